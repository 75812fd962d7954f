package main

import (
	"errors"

	"github.com/IBM/sarama"
)

type saramaAdmin struct {
	sarama.ClusterAdmin
}

func newSarama(bootstrap string) (admin, error) {
	config := sarama.NewConfig()
	config.Version = sarama.V2_8_0_0
	client, err := sarama.NewClusterAdmin([]string{bootstrap}, config)
	return saramaAdmin{client}, err
}

func (client saramaAdmin) cluster() ([]int32, int32, error) {
	brokers, controller, err := client.DescribeCluster()
	var ids []int32
	for _, broker := range brokers {
		ids = append(ids, broker.ID())
	}
	return ids, controller, err
}

func (client saramaAdmin) create(topic string, replicas []int32) error {
	detail := &sarama.TopicDetail{
		NumPartitions: -1, ReplicationFactor: -1, ReplicaAssignment: map[int32][]int32{0: replicas},
	}
	return client.CreateTopic(topic, detail, false)
}

func (client saramaAdmin) replicas(topic string) ([]int32, error) {
	topics, err := client.DescribeTopics([]string{topic})
	if err != nil {
		return nil, err
	}
	if len(topics) == 0 || len(topics[0].Partitions) == 0 {
		return nil, errors.New("the topic is not known yet")
	}
	return topics[0].Partitions[0].Replicas, nil
}

func (client saramaAdmin) setRetention(topic, value string) error {
	entry := sarama.IncrementalAlterConfigsEntry{Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &value}
	entries := map[string]sarama.IncrementalAlterConfigsEntry{"retention.ms": entry}
	return client.IncrementalAlterConfig(sarama.TopicResource, topic, entries, false)
}

func (client saramaAdmin) retention(topic string) (string, error) {
	resource := sarama.ConfigResource{Type: sarama.TopicResource, Name: topic, ConfigNames: []string{"retention.ms"}}
	entries, err := client.DescribeConfig(resource)
	if err != nil || len(entries) == 0 {
		return "", err
	}
	return entries[0].Value, nil
}

func (client saramaAdmin) move(topic string, replicas []int32) (int16, error) {
	err := client.AlterPartitionReassignments(topic, [][]int32{replicas})
	var code sarama.KError
	if errors.As(err, &code) {
		return int16(code), nil
	}
	return 0, err
}

func (client saramaAdmin) moving(topic string) (bool, error) {
	listed, err := client.ListPartitionReassignments(topic, []int32{0})
	return len(listed[topic]) > 0, err
}

func (client saramaAdmin) remove(topic string) error {
	return client.DeleteTopic(topic)
}

func (client saramaAdmin) close() {
	_ = client.Close()
}
