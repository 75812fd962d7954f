// A login with kafkajs: node login.js BOOTSTRAP PROTOCOL MECHANISM USER SECRET CA CERTIFICATE.
//
// Prints the topics that the user may see, or the error after "refused ". See tests/clients/go/login.go.
const fs = require("fs")
const { Kafka, logLevel } = require("kafkajs")

const [bootstrap, protocol, mechanism, user, secret, ca, certificate] = process.argv.slice(2)

const config = { brokers: [bootstrap], logLevel: logLevel.NOTHING, retry: { retries: 0 } }
if (protocol.endsWith("SSL")) {
  config.ssl = { ca: [fs.readFileSync(ca)] }
  if (protocol === "SSL") Object.assign(config.ssl, { key: fs.readFileSync(certificate), cert: fs.readFileSync(certificate) })
}
if (mechanism === "OAUTHBEARER") {
  config.sasl = { mechanism: "oauthbearer", oauthBearerProvider: async () => ({ value: secret }) }
} else if (mechanism) {
  config.sasl = { mechanism: mechanism.toLowerCase(), username: user, password: secret }
}

async function main() {
  const admin = new Kafka(config).admin()
  await admin.connect()
  console.log("topics", (await admin.listTopics()).sort().join(","))
  await admin.disconnect()
}

main().catch((error) => console.log("refused", String(error.message).replaceAll("\n", " ")))
