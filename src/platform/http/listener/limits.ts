import { BlockList } from 'node:net'

/**
 * The limits and timeouts of the listener. Anyone can connect before authentication, so that each
 * limit restricts the resources of one client. No honest client on a bad line reaches them.
 */
export interface ListenerLimits {
  /** Open sockets in total. */
  readonly maxConnections: number
  /** Open sockets of one peer network (see `peerNetwork`). */
  readonly maxConnectionsPerPeer: number
  /** Whether limits per peer apply to peers on this machine too. */
  readonly limitLoopback: boolean
  /** Addresses of trusted reverse proxies, whose connections carry requests of many peers. */
  readonly uncountedAddresses: BlockList
  /**
   * Time from accepting the connection until its protocol is known, and again until the HTTP/1.1
   * headers are complete.
   */
  readonly headersTimeoutMs: number
  /** Time of an HTTP/1.1 connection between two requests. */
  readonly keepAliveTimeoutMs: number
  /** Time of an HTTP/2 session without open streams. */
  readonly sessionIdleTimeoutMs: number
  /** Time without progress of a request that is arriving or a response that is unread. */
  readonly stallTimeoutMs: number
  /** Bytes that must arrive within each `stallTimeoutMs` while a request is arriving. */
  readonly minReceivedBytes: number
  /** Silence after which an HTTP/2 peer gets a ping. */
  readonly pingAfterMs: number
  /** Time for the answer to a ping. */
  readonly pingTimeoutMs: number
  /** Time for a client to close a connection after the server's last message. */
  readonly lingerTimeoutMs: number
  /** Time for which the rest of a request is read and dropped after its response has ended. */
  readonly earlyEndTimeoutMs: number
  /**
   * Largest content length of a request that is dropped to preserve its HTTP/1.1 connection. After
   * a larger one, the connection closes.
   */
  readonly maxSkippedBytes: number
  /** Size of the header list of a request in either version, by RFC 9113 §6.5.2. */
  readonly maxHeaderBytes: number
  /** Header fields of a request in either version, including `Host`. */
  readonly maxHeaderFields: number
  /** Open streams of one HTTP/2 session. */
  readonly maxConcurrentStreams: number
  /** Resets of streams of one HTTP/2 session, at once and per second after that. */
  readonly maxResetBurst: number
  readonly maxResetsPerSecond: number
  /**
   * Requests that one peer network may abandon before their responses begin, over all connections,
   * at once and per second after that.
   */
  readonly maxAbandonedBurst: number
  readonly maxAbandonedPerSecond: number
  /** Bytes that the client of one stream may send ahead of its handler. */
  readonly streamWindowBytes: number
  /** Bytes in flight on one HTTP/2 session. */
  readonly sessionWindowBytes: number
  /** Memory of one HTTP/2 session for frames, header tables and queued data, in MiB. */
  readonly maxSessionMemoryMib: number
  /** Unread bytes of responses: of one connection, of one peer network, in total. */
  readonly maxWaitingBytesPerConnection: number
  readonly maxWaitingBytesPerPeer: number
  readonly maxWaitingBytes: number
  /** Open message streams: of one connection, of one peer network, in total. */
  readonly maxLongStreamsPerConnection: number
  readonly maxLongStreamsPerPeer: number
  readonly maxLongStreams: number
  /**
   * Bytes that a reader must take in each window while it has unread bytes, where a limit has led
   * to refusals.
   */
  readonly slowReaderWindowMs: number
  readonly minTakenBytes: number
  /** Interval of the checks of the timeouts above, which is their precision. */
  readonly sweepIntervalMs: number
}

// An idle connection costs 10 to 100 KiB, so that all cost at most a few hundred MiB. Usual
// descriptor limits are higher.
const MAX_CONNECTIONS = 4096

// A quarter: one host cannot occupy the server, and an office behind one address still fits.
const MAX_CONNECTIONS_PER_PEER = 1024

// A handshake and 32 KiB of headers over a modem with packet loss.
const HEADERS_TIMEOUT_MS = 20_000

// Load balancers drop idle upstream connections after 60 seconds. A server that closes later never
// races with a request.
const KEEP_ALIVE_TIMEOUT_MS = 65_000

// gRPC clients use one session for all their calls and reconnect after GOAWAY.
const SESSION_IDLE_TIMEOUT_MS = 300_000

// A Git client that compresses a large blob during a push is silent for some seconds, not for a
// minute.
const STALL_TIMEOUT_MS = 60_000

// 70 bytes per second: less than any line in use, and enough that open requests cost the client
// something.
const MIN_RECEIVED_BYTES = 4096

// Often enough for NAT devices, and rarer than the keep-alive pings of gRPC clients.
const PING_AFTER_MS = 60_000
const PING_TIMEOUT_MS = 20_000

// Long enough for the response to arrive. Closing at once would reset the connection and could lose
// the response (RFC 9112 §9.6).
const LINGER_TIMEOUT_MS = 2_000

// Bytes in flight arrive in this time, and the client begins to read the response.
const EARLY_END_TIMEOUT_MS = 1_000

// Dropping a mebibyte is cheaper than another TLS handshake, and takes a second at 8 Mbit/s.
const MAX_SKIPPED_BYTES = 1024 * 1024

// The longest request target is 16 KiB, and a longer one gets 414 from REST rather than 431 from
// here.
const MAX_HEADER_BYTES = 32 * 1024

// The default of node:http2. HTTP/1.1 has the same limit, so that both accept the same requests.
const MAX_HEADER_FIELDS = 128

// RFC 9113 §6.5.2 recommends at least 100.
const MAX_CONCURRENT_STREAMS = 128

// Half of nghttp2's limit, at which the session would stop reading and stay open (see
// `createHttp2Server`).
const MAX_RESET_BURST = 500
const MAX_RESETS_PER_SECOND = 16

// All browsers of an office behind one address leave a page at once; a tenth of a second of work
// for the server.
const MAX_ABANDONED_BURST = 2000
const MAX_ABANDONED_PER_SECOND = 64

// 10 MB/s for one push at 50 ms round-trip time, and at most 64 MiB unread over all streams of a
// session.
const STREAM_WINDOW_BYTES = 512 * 1024

// Two full streams. Node returns session credit on receipt, so that this limits bytes on the wire
// rather than in memory.
const SESSION_WINDOW_BYTES = 1024 * 1024

// Node's default of 10 refuses streams when a slow reader has a few large responses.
const MAX_SESSION_MEMORY_MIB = 32

// The largest complete response, a file of 10 MiB in base64, and some small ones.
const MAX_WAITING_BYTES_PER_CONNECTION = 16 * 1024 * 1024

// Four such responses, so that one host cannot use the whole limit.
const MAX_WAITING_BYTES_PER_PEER = 64 * 1024 * 1024

// A machine with 2 GiB can spare this much.
const MAX_WAITING_BYTES = 512 * 1024 * 1024

// Half of the streams of a connection, so that streams remain for unary calls.
const MAX_LONG_STREAMS_PER_CONNECTION = 64

// The same as for connections, since an open stream costs about as much.
const MAX_LONG_STREAMS_PER_PEER = 1024
const MAX_LONG_STREAMS = 4096

// 8 KiB per second: slower than any line on which a user waits for megabytes.
const SLOW_READER_WINDOW_MS = 60_000
const MIN_TAKEN_BYTES = 480 * 1024

// Reads two counters per connection, some milliseconds for all of them.
const SWEEP_INTERVAL_MS = 1_000

/** Seconds after which a client that is refused for its unread answers should try again. */
export const RETRY_AFTER_SECONDS = 5

/** The limits of a server on the public internet. */
export const defaultListenerLimits: ListenerLimits = {
  maxConnections: MAX_CONNECTIONS,
  maxConnectionsPerPeer: MAX_CONNECTIONS_PER_PEER,
  limitLoopback: false,
  uncountedAddresses: new BlockList(),
  headersTimeoutMs: HEADERS_TIMEOUT_MS,
  keepAliveTimeoutMs: KEEP_ALIVE_TIMEOUT_MS,
  sessionIdleTimeoutMs: SESSION_IDLE_TIMEOUT_MS,
  stallTimeoutMs: STALL_TIMEOUT_MS,
  minReceivedBytes: MIN_RECEIVED_BYTES,
  pingAfterMs: PING_AFTER_MS,
  pingTimeoutMs: PING_TIMEOUT_MS,
  lingerTimeoutMs: LINGER_TIMEOUT_MS,
  earlyEndTimeoutMs: EARLY_END_TIMEOUT_MS,
  maxSkippedBytes: MAX_SKIPPED_BYTES,
  maxHeaderBytes: MAX_HEADER_BYTES,
  maxHeaderFields: MAX_HEADER_FIELDS,
  maxConcurrentStreams: MAX_CONCURRENT_STREAMS,
  maxResetBurst: MAX_RESET_BURST,
  maxResetsPerSecond: MAX_RESETS_PER_SECOND,
  maxAbandonedBurst: MAX_ABANDONED_BURST,
  maxAbandonedPerSecond: MAX_ABANDONED_PER_SECOND,
  streamWindowBytes: STREAM_WINDOW_BYTES,
  sessionWindowBytes: SESSION_WINDOW_BYTES,
  maxSessionMemoryMib: MAX_SESSION_MEMORY_MIB,
  maxWaitingBytesPerConnection: MAX_WAITING_BYTES_PER_CONNECTION,
  maxWaitingBytesPerPeer: MAX_WAITING_BYTES_PER_PEER,
  maxWaitingBytes: MAX_WAITING_BYTES,
  maxLongStreamsPerConnection: MAX_LONG_STREAMS_PER_CONNECTION,
  maxLongStreamsPerPeer: MAX_LONG_STREAMS_PER_PEER,
  maxLongStreams: MAX_LONG_STREAMS,
  slowReaderWindowMs: SLOW_READER_WINDOW_MS,
  minTakenBytes: MIN_TAKEN_BYTES,
  sweepIntervalMs: SWEEP_INTERVAL_MS,
}
