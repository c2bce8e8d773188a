/** The parts of `ssh2` that the SSH program uses. The names with an underscore are internals. */
declare module 'ssh2/lib/server.js' {
  import type { EventEmitter } from 'node:events'
  import type { Socket } from 'node:net'
  import type { Duplex, Writable } from 'node:stream'

  interface AuthContext {
    readonly method: string
    readonly username: string
    accept(): void
    reject(methodsLeft: readonly string[]): void
  }

  interface PublicKeyContext extends AuthContext {
    readonly method: 'publickey'
    readonly key: { readonly algo: string; readonly data: Buffer }
    readonly hashAlgo: string | undefined
    /** Absent from a query whether the key would be accepted. */
    readonly signature: Buffer | undefined
    /** The data that the client signed. */
    readonly blob: Buffer | undefined
  }

  interface ServerChannel extends Duplex {
    readonly stderr: Writable
    readonly outgoing: { readonly id: number }
    eof(): void
    close(): void
  }

  type Reply = (() => void) | undefined

  interface Session extends EventEmitter {
    on(
      event: 'env',
      listener: (accept: Reply, reject: Reply, info: { key: string; val: string }) => void,
    ): this
    on(event: 'signal', listener: (accept: Reply) => void): this
    on(event: 'shell', listener: (accept: () => ServerChannel | undefined) => void): this
    on(
      event: 'exec',
      listener: (
        accept: () => ServerChannel | undefined,
        reject: Reply,
        info: { command: string },
      ) => void,
    ): this
    on(event: 'close', listener: () => void): this
  }

  /** What a key exchange agreed on. `sc`: from the server to the client. */
  interface Negotiated {
    readonly kex: string
    /** Algorithm of the host key. */
    readonly serverHostKey: string
    readonly sc: { readonly cipher: string }
  }

  interface Connection extends EventEmitter {
    readonly _sock: Socket
    readonly _protocol: {
      disconnect(reason: number, text: string): void
      exitStatus(channel: number, code: number): void
      /** Sends a message (a correction of `scripts/setup/ssh2-corrections.mjs`). */
      sendPayload(payload: Buffer): void
      /** Follow those in `server-sig-algs` (a correction). */
      moreSignatureAlgorithms?: string
      readonly _kex: { readonly sessionID: Buffer }
    }
    on(event: 'handshake', listener: (negotiated: Negotiated) => void): this
    /** A global request. Without `accept`, the client wants no reply. */
    on(
      event: 'request',
      listener: (
        accept: ((reply: Buffer) => void) | undefined,
        reject: Reply,
        name: string,
        data: Buffer,
      ) => void,
    ): this
    on(event: string, listener: (...args: never[]) => void): this
    end(): void
    rekey(callback: (error?: Error) => void): void
  }

  interface ServerConfig {
    readonly hostKeys: readonly string[]
    readonly ident: string
    readonly algorithms: Readonly<Record<string, readonly string[]>>
    readonly banner: string | undefined
    readonly keepaliveInterval: number
    readonly keepaliveCountMax: number
  }

  class Server {
    constructor(config: ServerConfig)
    on(
      event: 'connection',
      listener: (
        connection: Connection,
        info: { readonly header: { readonly versions: { readonly software: string } } },
      ) => void,
    ): this
    on(event: 'error', listener: (error: Error) => void): this
    injectSocket(socket: Socket): void
  }

  export default Server
  export type { AuthContext, Connection, PublicKeyContext, ServerChannel, Session }
}

declare module 'ssh2/lib/protocol/keyParser.js' {
  interface ParsedKey {
    readonly type: string
    getPublicSSH(): Buffer
    getPrivatePEM(): string | null
    sign(data: Buffer, hash?: string): Buffer | Error
    verify(data: Buffer, signature: Buffer, hash?: string): boolean | Error
  }

  const keyParser: { parseKey(key: string | Buffer): ParsedKey | Error }
  export default keyParser
  export type { ParsedKey }
}

declare module 'ssh2/lib/protocol/utils.js' {
  const utils: {
    /** Converts a signature of OpenSSL to the form of SSH. False when the signature is malformed. */
    convertSignature(signature: Buffer, keyType: string): Buffer | false
  }
  export default utils
}

declare module 'ssh2/lib/keygen.js' {
  const keygen: {
    generateKeyPairSync(
      type: 'ed25519' | 'ecdsa' | 'rsa',
      options?: { readonly bits: number },
    ): { readonly private: string; readonly public: string }
  }
  export default keygen
}
