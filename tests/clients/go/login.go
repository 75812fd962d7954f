// A login with Go's Kafka clients: tour login CLIENT BOOTSTRAP PROTOCOL MECHANISM USER SECRET CA CERTIFICATE.
//
// Prints the topics that the user may see, or the error after "refused ". SECRET is the password, or the token of
// OAUTHBEARER. CERTIFICATE is a PEM file with key and chain for the protocol SSL.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/IBM/sarama"
	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	segmentplain "github.com/segmentio/kafka-go/sasl/plain"
	segmentscram "github.com/segmentio/kafka-go/sasl/scram"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
	xdgscram "github.com/xdg-go/scram"
)

const loginPatience = 15 * time.Second

type login struct {
	client, bootstrap, protocol, mechanism, user, secret, ca, certificate string
}

func runLogin(arguments []string) {
	given := login{
		arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5], arguments[6], arguments[7],
	}
	run := map[string]func() ([]string, error){
		"sarama": given.sarama, "franz-go": given.franz, "kafka-go": given.segment,
	}[given.client]
	topics, err := run()
	if err != nil {
		fmt.Println("refused", strings.ReplaceAll(err.Error(), "\n", " "))
		return
	}
	slices.Sort(topics)
	fmt.Println("topics", strings.Join(topics, ","))
}

// encryption returns the TLS configuration; nil for a protocol without TLS.
func (given login) encryption() *tls.Config {
	if !strings.HasSuffix(given.protocol, "SSL") {
		return nil
	}
	authority, err := os.ReadFile(given.ca)
	check(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	config := &tls.Config{RootCAs: pool}
	if given.protocol == "SSL" {
		pair, err := tls.LoadX509KeyPair(given.certificate, given.certificate)
		check(err)
		config.Certificates = []tls.Certificate{pair}
	}
	return config
}

func (given login) franz() ([]string, error) {
	options := []kgo.Opt{kgo.SeedBrokers(given.bootstrap), kgo.RetryTimeout(loginPatience)}
	if encryption := given.encryption(); encryption != nil {
		options = append(options, kgo.DialTLSConfig(encryption))
	}
	switch given.mechanism {
	case "PLAIN":
		options = append(options, kgo.SASL(plain.Auth{User: given.user, Pass: given.secret}.AsMechanism()))
	case "SCRAM-SHA-256":
		options = append(options, kgo.SASL(scram.Auth{User: given.user, Pass: given.secret}.AsSha256Mechanism()))
	case "SCRAM-SHA-512":
		options = append(options, kgo.SASL(scram.Auth{User: given.user, Pass: given.secret}.AsSha512Mechanism()))
	case "OAUTHBEARER":
		options = append(options, kgo.SASL(oauth.Auth{Token: given.secret}.AsMechanism()))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	timed, cancel := context.WithTimeout(context.Background(), loginPatience)
	defer cancel()
	topics, err := kadm.NewClient(client).ListTopics(timed)
	return topics.Names(), err
}

type staticToken string

func (token staticToken) Token() (*sarama.AccessToken, error) {
	return &sarama.AccessToken{Token: string(token)}, nil
}

// conversation is the client that sarama wants its users to bring for SCRAM.
type conversation struct {
	hash xdgscram.HashGeneratorFcn
	*xdgscram.ClientConversation
}

func (client *conversation) Begin(user, password, authorization string) error {
	begun, err := client.hash.NewClient(user, password, authorization)
	if err != nil {
		return err
	}
	client.ClientConversation = begun.NewConversation()
	return nil
}

func (given login) sarama() ([]string, error) {
	config := sarama.NewConfig()
	config.Version = sarama.V2_8_0_0
	config.Metadata.Retry.Max = 0
	if encryption := given.encryption(); encryption != nil {
		config.Net.TLS.Enable, config.Net.TLS.Config = true, encryption
	}
	if given.mechanism != "" {
		config.Net.SASL.Enable = true
		config.Net.SASL.Mechanism = sarama.SASLMechanism(given.mechanism)
		config.Net.SASL.User, config.Net.SASL.Password = given.user, given.secret
		config.Net.SASL.TokenProvider = staticToken(given.secret)
		hash := xdgscram.SHA256
		if given.mechanism == "SCRAM-SHA-512" {
			hash = xdgscram.SHA512
		}
		config.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient { return &conversation{hash: hash} }
	}
	admin, err := sarama.NewClusterAdmin([]string{given.bootstrap}, config)
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	topics, err := admin.ListTopics()
	var names []string
	for name := range topics {
		names = append(names, name)
	}
	return names, err
}

func (given login) segment() ([]string, error) {
	var mechanism sasl.Mechanism
	var err error
	switch given.mechanism {
	case "PLAIN":
		mechanism = segmentplain.Mechanism{Username: given.user, Password: given.secret}
	case "SCRAM-SHA-256":
		mechanism, err = segmentscram.Mechanism(segmentscram.SHA256, given.user, given.secret)
	case "SCRAM-SHA-512":
		mechanism, err = segmentscram.Mechanism(segmentscram.SHA512, given.user, given.secret)
	}
	check(err)
	transport := &kafka.Transport{TLS: given.encryption(), SASL: mechanism}
	client := &kafka.Client{Addr: kafka.TCP(given.bootstrap), Timeout: loginPatience, Transport: transport}
	metadata, err := client.Metadata(context.Background(), &kafka.MetadataRequest{})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, topic := range metadata.Topics {
		names = append(names, topic.Name)
	}
	return names, nil
}
