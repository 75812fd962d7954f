"""Security of Kafka listeners: logins by SASL and TLS, and the authorizer over the stored ACLs.

The rules are pure functions of bytes and settings.
"""
