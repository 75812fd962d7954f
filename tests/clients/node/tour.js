// The steps of AdminTour.java with kafkajs: node tour.js BOOTSTRAP TOPIC FROM TO.
//
// Prints one line for each step. FROM and TO are replica lists such as 1,2.
const { Kafka, ConfigResourceTypes, logLevel } = require("kafkajs")

const PATIENCE_MS = 30_000
const [bootstrap, topic, from, to] = process.argv.slice(2)
const ids = (text) => text.split(",").map(Number)
const list = (values) => `[${values.join(", ")}]`

// A broker may learn of a change late.
async function awaited(ask, wanted) {
  for (const deadline = Date.now() + PATIENCE_MS; ; await new Promise((done) => setTimeout(done, 50))) {
    const seen = await ask().catch((error) => (Date.now() > deadline ? Promise.reject(error) : undefined))
    if ((seen !== undefined && wanted(seen)) || Date.now() > deadline) return seen
  }
}

// Returns the error code of the row from kafkajs's error; 0 if the row was accepted.
async function move(admin, replicas) {
  try {
    await admin.alterPartitionReassignments({ topics: [{ topic, partitionAssignment: [{ partition: 0, replicas }] }] })
    return 0
  } catch (error) {
    return error.errors?.[0]?.code ?? error.code ?? error
  }
}

async function tour(admin) {
  const { brokers, controller } = await admin.describeCluster()
  const nodes = brokers.map((broker) => broker.nodeId).sort((a, b) => a - b)
  console.log("brokers", list(nodes))
  console.log("controller listed", nodes.includes(controller))

  await admin.createTopics({ topics: [{ topic, replicaAssignment: [{ partition: 0, replicas: ids(from) }] }] })
  const replicas = async () => (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0].partitions[0].replicas
  console.log("created", list(await awaited(replicas, () => true)))

  const resource = { type: ConfigResourceTypes.TOPIC, name: topic }
  const configEntries = [{ name: "retention.ms", value: "12345" }]
  await admin.alterConfigs({ validateOnly: false, resources: [{ ...resource, configEntries }] })
  const retention = async () => {
    const asked = [{ ...resource, configNames: ["retention.ms"] }]
    return (await admin.describeConfigs({ includeSynonyms: false, resources: asked })).resources[0].configEntries[0].configValue
  }
  console.log("retention", await awaited(retention, (value) => value === "12345"))

  const accepted = await move(admin, ids(to))
  if (accepted !== 0) throw new Error(`the move was refused with error ${accepted}`)
  const moving = async () => (await admin.listPartitionReassignments({ topics: [{ topic, partitions: [0] }] })).topics.length
  await awaited(moving, (count) => count === 0)
  console.log("moved", list(await awaited(replicas, (seen) => list(seen) === list(ids(to)))))
  console.log("broker 77", await move(admin, [77]))
  await admin.deleteTopics({ topics: [topic] })
  console.log("deleted")
}

async function main() {
  const admin = new Kafka({ brokers: [bootstrap], logLevel: logLevel.NOTHING }).admin()
  await admin.connect()
  try {
    await tour(admin)
  } finally {
    await admin.disconnect()
  }
}

main().catch((error) => {
  console.log("failed:", error)
  process.exitCode = 1
})
