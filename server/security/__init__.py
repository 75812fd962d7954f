"""Security of Kafka listeners: logins by SASL and TLS, and the authorizer over the stored ACLs.

The mechanisms and rules are pure functions of bytes and settings; only `jwks_file` reads from elsewhere.
"""
