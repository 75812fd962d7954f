"""Security of Kafka listeners: who a client is, and what it may do.

`login` the gate of a listener and the login of a connection; `mechanisms` PLAIN, OAUTHBEARER and SCRAM's
messages; `scram` the exchange; `scram_credentials` what is kept of a password; `tokens` the checks of JSON
Web Tokens; `subjects` the names of certificates; `acls` the authorizer. All are functions of bytes, settings
and the controller's state.
"""
