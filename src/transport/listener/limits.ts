import { BlockList } from 'node:net'

/**
 * Every cap and timeout of the listener. The server is reachable by strangers before any of them
 * has said who they are, so each limit bounds what one of them can hold, and each is chosen so that
 * no honest client on a bad line meets it.
 */
export interface ListenerLimits {
  /** Open sockets in total. */
  readonly maxConnections: number
  /** Open sockets of one peer network (see `peerNetwork`). */
  readonly maxConnectionsPerPeer: number
  /** Whether what is limited for each peer is limited for peers on this machine, too. */
  readonly limitLoopback: boolean
  /**
   * Addresses that are no peers of their own, since they speak for many: those of trusted reverse
   * proxies.
   */
  readonly uncountedAddresses: BlockList
  /**
   * From accepting (TLS handshake, protocol still unknown) to a protocol, and again to complete
   * HTTP/1.1 headers.
   */
  readonly headersTimeoutMs: number
  /** An HTTP/1.1 connection between two requests. */
  readonly keepAliveTimeoutMs: number
  /** An HTTP/2 session without open streams. */
  readonly sessionIdleTimeoutMs: number
  /** A client that owes bytes of a request, or room for an answer, and makes no progress. */
  readonly stallTimeoutMs: number
  /** What has to arrive within each `stallTimeoutMs` while a request is arriving. */
  readonly minReceivedBytes: number
  /** An HTTP/2 peer that has sent nothing for so long is asked whether it is still there. */
  readonly pingAfterMs: number
  /** How long the answer to that question may take. */
  readonly pingTimeoutMs: number
  /** How long a connection that has been told why it is closed may take to go. */
  readonly lingerTimeoutMs: number
  /** How long the rest of a request is taken, and dropped, after its answer has ended. */
  readonly earlyEndTimeoutMs: number
  /**
   * Announced size of a request that is dropped for the sake of its HTTP/1.1 connection; after a
   * larger one the connection ends.
   */
  readonly maxSkippedBytes: number
  /** Header list of one request, in either version, counted as RFC 9113 §6.5.2 does. */
  readonly maxHeaderBytes: number
  /** Header fields of one request, in either version, `Host` among them. */
  readonly maxHeaderFields: number
  /** Open streams of one HTTP/2 session. */
  readonly maxConcurrentStreams: number
  /** Streams of one HTTP/2 session that may be reset at once, and how many more each second. */
  readonly maxResetBurst: number
  readonly maxResetsPerSecond: number
  /**
   * Requests that one peer network may abandon before their answers begin, on all connections, at
   * once and each second.
   */
  readonly maxAbandonedBurst: number
  readonly maxAbandonedPerSecond: number
  /** How far the client of one stream may run ahead of its handler. */
  readonly streamWindowBytes: number
  /** Bytes in flight on one HTTP/2 session. */
  readonly sessionWindowBytes: number
  /**
   * What one HTTP/2 session may hold in frames, header tables and queued data, in MiB (node counts
   * in megabytes).
   */
  readonly maxSessionMemoryMib: number
  /**
   * What was made for readers and not taken by them, in bytes: on one connection, for one peer
   * network, in total. No call is served beyond.
   */
  readonly maxWaitingBytesPerConnection: number
  readonly maxWaitingBytesPerPeer: number
  readonly maxWaitingBytes: number
  /** Open streams of messages: on one connection, of one peer network, in total. */
  readonly maxLongStreamsPerConnection: number
  readonly maxLongStreamsPerPeer: number
  readonly maxLongStreams: number
  /**
   * What a reader has to take within each such time while bytes wait, where others are refused for
   * want of room.
   */
  readonly slowReaderWindowMs: number
  readonly minTakenBytes: number
  /** How often the deadlines above are looked at; they are exact to this interval. */
  readonly sweepIntervalMs: number
}

// An idle connection costs 10 to 100 KiB, so this many cost at most a few hundred MiB; usual
// descriptor limits are above it.
const MAX_CONNECTIONS = 4096

// A quarter: one host cannot take the server, and an office behind one address still fits.
const MAX_CONNECTIONS_PER_PEER = 1024

// A handshake and 32 KiB of headers over a modem with packet loss.
const HEADERS_TIMEOUT_MS = 20_000

// Load balancers drop idle upstream connections after 60 seconds. The side that closes second never
// races a request.
const KEEP_ALIVE_TIMEOUT_MS = 65_000

// gRPC clients keep one session for all their calls and reconnect by themselves after GOAWAY.
const SESSION_IDLE_TIMEOUT_MS = 300_000

// A git client that compresses one large blob in the middle of a push is silent for some seconds,
// not for a minute.
const STALL_TIMEOUT_MS = 60_000

// 70 bytes a second: below any line in use, and above what makes holding a request open free of
// charge.
const MIN_RECEIVED_BYTES = 4096

// As often as a NAT box wants to see traffic, and rarer than the keep-alive pings of gRPC clients.
const PING_AFTER_MS = 60_000
const PING_TIMEOUT_MS = 20_000

// Long enough for the answer to cross the net; closing at once would reset the connection and take
// the answer away (RFC 9112 §9.6).
const LINGER_TIMEOUT_MS = 2_000

// What a client has in flight arrives in that time, and with it the client's first look at the
// answer.
const EARLY_END_TIMEOUT_MS = 1_000

// Dropping a mebibyte is cheaper than another TLS handshake, and takes a second at 8 Mbit/s.
const MAX_SKIPPED_BYTES = 1024 * 1024

// The longest request target served is 16 KiB, and a longer one deserves 414 from above rather than
// 431 from here.
const MAX_HEADER_BYTES = 32 * 1024

// The default of node:http2; HTTP/1.1 takes the same so that a request means the same in both.
const MAX_HEADER_FIELDS = 128

// RFC 9113 §6.5.2 recommends at least 100.
const MAX_CONCURRENT_STREAMS = 128

// Half of what nghttp2 allows. There the session would stop reading and stay open (see
// `createHttp2Server`), so it has to end before.
const MAX_RESET_BURST = 500
const MAX_RESETS_PER_SECOND = 16

// An office behind one address whose browsers all leave a page at once; a tenth of a second of work
// for the server.
const MAX_ABANDONED_BURST = 2000
const MAX_ABANDONED_PER_SECOND = 64

// 10 MB/s at 50 ms round trip for one push, while all streams of a session together hold at most 64
// MiB unread.
const STREAM_WINDOW_BYTES = 512 * 1024

// Two full streams: node gives session credit back on receipt, so this bounds bytes on the wire,
// not in memory.
const SESSION_WINDOW_BYTES = 1024 * 1024

// Node's 10 refuses streams as soon as a few large answers wait for a slow reader.
const MAX_SESSION_MEMORY_MIB = 32

// The largest answer made as a whole, a file of 10 MiB in base64, and some small ones beside it.
const MAX_WAITING_BYTES_PER_CONNECTION = 16 * 1024 * 1024

// Four such answers: one host cannot take all there is.
const MAX_WAITING_BYTES_PER_PEER = 64 * 1024 * 1024

// What a machine of 2 GiB can spare.
const MAX_WAITING_BYTES = 512 * 1024 * 1024

// Half of the streams of a connection, so that unary calls always find one.
const MAX_LONG_STREAMS_PER_CONNECTION = 64

// As for connections: an open stream costs about as much as a connection does.
const MAX_LONG_STREAMS_PER_PEER = 1024
const MAX_LONG_STREAMS = 4096

// 8 KiB a second: below any line on which somebody waits for an answer of megabytes.
const SLOW_READER_WINDOW_MS = 60_000
const MIN_TAKEN_BYTES = 480 * 1024

// Two counters are read per connection, some milliseconds for all of them.
const SWEEP_INTERVAL_MS = 1_000

/** Seconds after which a client that is refused for its unread answers should try again. */
export const RETRY_AFTER_SECONDS = 5

/** The limits of a server on the open net. */
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
