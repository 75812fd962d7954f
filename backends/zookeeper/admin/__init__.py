"""Plans that tools write as znodes under `/admin` (KIP-236, KIP-455)."""
