"""moto's DynamoDB, SQS and Secrets Manager behind the signed JSON calls that the notifier makes."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

import boto3
import botocore.exceptions
from moto import mock_aws

REGION = "us-east-2"


class AwsServer:
    """Forwards each call to the moto client of the same name, inside ``mock_aws``."""

    def __init__(self) -> None:
        self.before: Callable[[str], None] = lambda operation: None
        """Called with the name of each operation; what it raises becomes an answer of 500."""
        self.operations: list[str] = []

    def __enter__(self) -> AwsServer:
        """Start moto and the server, with the notifier's resources."""
        self._mock = mock_aws()
        self._mock.start()
        self.dynamodb, self.sqs, self.secrets, self.sns = (
            boto3.client(name, region_name=REGION)
            for name in ("dynamodb", "sqs", "secretsmanager", "sns")
        )
        self.dynamodb.create_table(
            TableName="shown",
            KeySchema=[{"AttributeName": "key", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "key", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        self._rounds = count()
        self.reset()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        return self

    def __exit__(self, *_: object) -> None:
        """Stop both."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._mock.stop()

    def reset(self) -> None:
        """Empty the table and make new queues: SQS purges a queue once a minute."""
        self.before = lambda operation: None
        self.operations.clear()
        for item in self.dynamodb.scan(TableName="shown")["Items"]:
            self.dynamodb.delete_item(TableName="shown", Key={"key": item["key"]})
        number = next(self._rounds)
        self.queue_url, self.dead_letter_url = (
            self.sqs.create_queue(QueueName=f"{name}-{number}")["QueueUrl"]
            for name in ("alerts", "dead")
        )

    def set_secret(self, text: str) -> None:
        """Create or change the Slack secret."""
        if self.secrets.list_secrets()["SecretList"]:
            self.secrets.put_secret_value(SecretId="slack", SecretString=text)
        else:
            self.secrets.create_secret(Name="slack", SecretString=text)

    def dead_letters(self) -> list[tuple[str, str]]:
        """Return body and error name of each dead letter."""
        found = []
        while answer := self.sqs.receive_message(
            QueueUrl=self.dead_letter_url, MaxNumberOfMessages=10, MessageAttributeNames=["All"]
        ).get("Messages"):
            found += [(m["Body"], m["MessageAttributes"]["Error"]["StringValue"]) for m in answer]
        return found

    def answer(self, target: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Run one operation."""
        prefix, _, operation = target.partition(".")
        client = {"DynamoDB_20120810": self.dynamodb, "secretsmanager": self.secrets}.get(
            prefix, self.sqs
        )
        method = getattr(client, re.sub(r"(?<!^)(?=[A-Z])", "_", operation).lower())
        self.operations.append(operation)
        try:
            self.before(operation)
            return 200, method(**body)
        except botocore.exceptions.ClientError as error:
            return 400, {"__type": error.response["Error"]["Code"]}
        except RuntimeError:
            return 500, {"__type": "InternalServerError"}

    def publish(self, bodies: list[str]) -> None:
        """Publish to a topic that the queue subscribes to: SNS writes the envelopes."""
        topic = self.sns.create_topic(Name="alerts")["TopicArn"]
        arn = self.sqs.get_queue_attributes(QueueUrl=self.queue_url, AttributeNames=["QueueArn"])[
            "Attributes"
        ]["QueueArn"]
        subscription = self.sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn)
        for start in range(0, len(bodies), 10):
            entries = [
                {"Id": str(n), "Message": body} for n, body in enumerate(bodies[start : start + 10])
            ]
            self.sns.publish_batch(TopicArn=topic, PublishBatchRequestEntries=entries)
        self.sns.unsubscribe(SubscriptionArn=subscription["SubscriptionArn"])

    def receive(self, size: int) -> list[dict[str, str]]:
        """Take up to so many messages from the queue, as the event source mapping does."""
        taken: list[dict[str, str]] = []
        while len(taken) < size:
            messages = self.sqs.receive_message(
                QueueUrl=self.queue_url,
                MaxNumberOfMessages=min(10, size - len(taken)),
                VisibilityTimeout=600,
            ).get("Messages", [])
            if not messages:
                break
            taken += [
                {
                    "messageId": m["MessageId"],
                    "body": m["Body"],
                    "receiptHandle": m["ReceiptHandle"],
                }
                for m in messages
            ]
        return taken

    def settle(self, batch: list[dict[str, str]], failed: set[str]) -> None:
        """Delete what was delivered and make the rest visible again."""
        for record in batch:
            handle = {"QueueUrl": self.queue_url, "ReceiptHandle": record["receiptHandle"]}
            if record["messageId"] in failed:
                self.sqs.change_message_visibility(**handle, VisibilityTimeout=0)
            else:
                self.sqs.delete_message(**handle)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                assert self.headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=")
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with outer._lock:
                    status, answer = outer.answer(self.headers["x-amz-target"], body)
                data = json.dumps(answer, default=str).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler
