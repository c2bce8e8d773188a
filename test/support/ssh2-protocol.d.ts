/** The part of `ssh2` by which tests encrypt. The names with an underscore are internals. */
declare module 'ssh2/lib/protocol/Protocol.js' {
  interface ProtocolConfig {
    /** What follows `SSH-2.0-` in the version line. */
    readonly ident: string
    onWrite(data: Buffer): void
    onError(error: Error): void
    onHandshakeComplete(): void
    readonly messageHandlers: Readonly<Record<string, never>>
  }

  class Protocol {
    constructor(config: ProtocolConfig)
    start(): void
    parse(data: Buffer, start: number, end: number): void
    cleanup(): void
    rekey(): void
    /** Gets each message after the first key exchange. */
    _onPayload: (payload: Buffer) => void
    readonly _kex: { readonly sessionID: Buffer }
    readonly _cipher: {
      /** Returns a packet with room for a message at its fifth byte. */
      allocPacket(bytes: number): Buffer
      encrypt(packet: Buffer): void
    }
  }

  export default Protocol
}
