// The server under test of the conformance suite: one request on standard input, which says how to
// listen, and one response on standard output. Each begins with its length in four bytes
// (docs/testing_servers.md of the suite). SIGTERM ends the server.
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { compressionBrotli, compressionGzip } from '@connectrpc/connect-node'
import { listen } from '../../src/platform/http/listener/index.ts'
import { createRpc } from '../../src/platform/rpc/index.ts'
import {
  type ServerCompatRequest,
  ServerCompatRequestSchema,
  ServerCompatResponseSchema,
} from './gen/connectrpc/conformance/v1/server_compat_pb.ts'
import { ConformanceService } from './gen/connectrpc/conformance/v1/service_pb.ts'
import { conformanceService } from './service.ts'

const PREFIX_BYTES = 4

const request = fromBinary(ServerCompatRequestSchema, await readDelimited())
const listener = await serve(request)
process.once('SIGTERM', () => {
  void listener.close(0)
})
const { hostname: host, port } = new URL(listener.url)
const response = create(ServerCompatResponseSchema, {
  host,
  port: Number(port),
  ...(request.useTls && { pemCert: request.serverCreds?.cert ?? new Uint8Array() }),
})
writeDelimited(toBinary(ServerCompatResponseSchema, response))

/** Starts Branchline's listener and its protocols with the service of the suite. */
function serve({ useTls, serverCreds, messageReceiveLimit }: ServerCompatRequest) {
  const rpc = createRpc({
    acceptCompression: [compressionGzip, compressionBrotli],
    ...(messageReceiveLimit > 0 && { readMaxBytes: messageReceiveLimit }),
    onError: (error) => console.error(error),
  })
  rpc.router.service(ConformanceService, conformanceService)
  const tls = useTls && serverCreds && credentialsOf(serverCreds)
  return listen({
    host: '127.0.0.1',
    port: 0,
    ...(tls && { tls }),
    handler: rpc.handlers().all,
  })
}

function credentialsOf({ cert, key }: { cert: Uint8Array; key: Uint8Array }) {
  return { cert: Buffer.from(cert), key: Buffer.from(key) }
}

/** Reads the first message of standard input, which stays open. */
async function readDelimited(): Promise<Buffer> {
  let bytes = Buffer.alloc(0)
  for await (const chunk of process.stdin) {
    bytes = Buffer.concat([bytes, chunk])
    if (bytes.length < PREFIX_BYTES) continue
    const end = PREFIX_BYTES + bytes.readUInt32BE()
    if (bytes.length >= end) return bytes.subarray(PREFIX_BYTES, end)
  }
  throw new Error('standard input ends before the first message')
}

function writeDelimited(message: Uint8Array): void {
  const prefix = Buffer.alloc(PREFIX_BYTES)
  prefix.writeUInt32BE(message.length)
  process.stdout.write(Buffer.concat([prefix, message]))
}
