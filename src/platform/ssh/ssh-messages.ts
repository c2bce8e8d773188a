/** The messages between the server and the SSH program, over the IPC channel of the program. */

/** A network of load balancers. */
export interface ProxyNetwork {
  readonly address: string
  readonly prefix: number
  readonly family: 'ipv4' | 'ipv6'
}

/** What the SSH program needs to serve. */
export interface SshSettings {
  /** Port 0 takes any free port. Undefined: the server passes connections. */
  readonly address: { readonly host: string; readonly port: number } | undefined
  /** The only login name that is accepted. */
  readonly user: string
  /** Files with private keys. Empty: the program keeps keys in `hostKeyFolder`. */
  readonly hostKeyFiles: readonly string[]
  /** Folder of the host keys. The program creates the folder with new keys when it is missing. */
  readonly hostKeyFolder: string
  /** The Unix socket to which the program opens a connection for each Git session. */
  readonly socketPath: string
  /** Text that clients show before they sign in. */
  readonly banner: string | undefined
  /**
   * Networks of load balancers, which begin each connection with a header of the PROXY protocol. Any
   * other peer is refused. Undefined where clients connect themselves.
   */
  readonly proxies: readonly ProxyNetwork[] | undefined
  /** Whether user certificates sign in. */
  readonly takesCertificates: boolean
  /** Whether limits of one network apply to this machine too. */
  readonly limitLoopback: boolean
}

/** What a client signs in by: the row of a public key, or a certificate in base64. */
export type KeyReference = { readonly keyId: number } | { readonly certificate: string }

/** A key or a certificate that somebody has. */
export interface KnownKey {
  readonly reference: KeyReference
  /** The account or deploy key whose connections are counted together. */
  readonly holder: string
}

/** A message to the SSH program. */
export type ToSshProgram =
  | { readonly kind: 'configure'; readonly settings: SshSettings }
  /** The answer to a question about a key. Without a key, the offered one is refused. */
  | { readonly kind: 'decision'; readonly question: number; readonly key: KnownKey | undefined }
  /** The database cannot answer. The program disconnects the client. */
  | { readonly kind: 'undecided'; readonly question: number }
  /** A session has ended. `text` goes to stderr of the client. */
  | {
      readonly kind: 'exit'
      readonly session: number
      readonly code: number
      readonly text: string
    }
  /**
   * The output of a process for the client of a session. Its socket goes with the message. The output
   * follows the first `afterBytes` bytes of the connection of the session.
   */
  | { readonly kind: 'output'; readonly session: number; readonly afterBytes: number }
  /** Read the host keys again. The program answers with them. */
  | { readonly kind: 'read host keys' }
  /** A connection, whose socket goes with the message. `begun`: the bytes that were read, in base64. */
  | { readonly kind: 'connection'; readonly begun: string }
  /** Take no new connections and sessions, and end after the running sessions or the time. */
  | { readonly kind: 'stop'; readonly graceMs: number }

/** Connections now, and what happened to them since the last figures. */
export interface ConnectionFigures {
  readonly connections: number
  /** Connections that authenticated, and those that ended without. */
  readonly accepted: number
  readonly failed: number
  readonly bytesIn: number
  readonly bytesOut: number
}

/** The public part of a host key. */
export interface PublicHostKey {
  readonly type: string
  /** Base64. */
  readonly key: string
  /** `SHA256:` and base64, as OpenSSH prints it. */
  readonly fingerprint: string
  /** Whether connections use the key, rather than will. */
  readonly isActive: boolean
}

/** A message from the SSH program. */
export type FromSshProgram =
  | {
      readonly kind: 'listening'
      /** Undefined where the server passes connections. */
      readonly port: number | undefined
      readonly hostKeys: readonly PublicHostKey[]
    }
  /** The host keys after they were read again. */
  | { readonly kind: 'host keys'; readonly hostKeys: readonly PublicHostKey[] }
  /** The host keys could not be read again. Connections use the former ones. */
  | { readonly kind: 'no host keys'; readonly message: string }
  /** The program cannot serve. The message is for the operator. */
  | { readonly kind: 'failed'; readonly message: string }
  /** Whether the key with this fingerprint belongs to somebody. */
  | { readonly kind: 'question'; readonly question: number; readonly fingerprint: string }
  /** Whether a certificate, in base64, belongs to somebody who may sign in from an address. */
  | {
      readonly kind: 'question'
      readonly question: number
      readonly certificate: string
      readonly peer: string
    }
  /** What happened since the last figures, at most once a second. */
  | ({ readonly kind: 'figures' } & ConnectionFigures)
  /** A connection has ended without authentication. `client` is empty without a version line. */
  | { readonly kind: 'unauthenticated'; readonly peer: string; readonly client: string }
  /** The client of a session has left. */
  | { readonly kind: 'left'; readonly session: number }
  /** Output of a process was sent to the client of a session: once a second, and at the end. */
  | ({ readonly kind: 'sent'; readonly session: number; readonly isEnd: boolean } & SentOutput)

/** Output that a client has taken since the last message. */
export interface SentOutput {
  readonly bytes: number
  /** Time in which bytes waited for the client. */
  readonly waitedMs: number
}

/** The first line of the connection of a session, as JSON. */
export interface SessionOpening {
  readonly session: number
  /** The key whose signature the program has verified. */
  readonly key: KeyReference
  /** Empty for a shell. */
  readonly command: string
  /** Value of `GIT_PROTOCOL`, empty without one. */
  readonly protocol: string
  /** Address of the client. */
  readonly peer: string
  /** How the client encrypts. */
  readonly transport: SshTransportFacts
}

/** What a client is, and what its connection agreed on. For the log. */
export interface SshTransportFacts {
  /** From the version line: printable, at most 64 characters. */
  readonly client: string
  readonly kex: string
  readonly cipher: string
}
