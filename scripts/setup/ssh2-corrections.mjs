import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './child-process.mjs'

/**
 * Corrections of `ssh2`, whose version is pinned exactly. The bundler applies them; a text that
 * is not found exactly once stops the build.
 */

const HYBRID = JSON.stringify(join(root, 'src', 'platform', 'ssh', 'hybrid-key-exchange.ts'))

/** @type {readonly { file: RegExp, from: string, to: string }[]} */
const CORRECTIONS = [
  {
    // The package has no key exchange that is safe against quantum computers.
    file: /ssh2[\\/]lib[\\/]protocol[\\/]kex\.js$/,
    from: "        case 'ecdh-sha2-nistp256':\n          return new ECDHExchange",
    to: `        case 'mlkem768x25519-sha256':
          return new (require(${HYBRID}).hybridExchange(Curve25519Exchange))('sha256', ...args);
        case 'ecdh-sha2-nistp256':
          return new ECDHExchange`,
  },
  {
    file: /ssh2[\\/]lib[\\/]protocol[\\/]constants\.js$/,
    from: 'const SUPPORTED_KEX = DEFAULT_KEX.concat([',
    to: "const SUPPORTED_KEX = DEFAULT_KEX.concat([\n  'mlkem768x25519-sha256',",
  },
  {
    // The folder of a file that is inside the text itself, so that the folder is never used.
    file: /ssh2[\\/]lib[\\/]protocol[\\/]crypto[\\/]poly1305\.js$/,
    from: '__dirname',
    to: "''",
  },
  {
    // The package offers an RSA host key with SHA-1 always.
    file: /ssh2[\\/]lib[\\/]server\.js$/,
    from: 'sha1Pos = Infinity;',
    to: ';',
  },
  {
    // The package gives no text with the reason to disconnect.
    file: /ssh2[\\/]lib[\\/]protocol[\\/]Protocol\.js$/,
    from: `  disconnect(reason) {
    const pktLen = 1 + 4 + 4 + 4;`,
    to: `  disconnect(reason, text = '') {
    const pktLen = 1 + 4 + 4 + text.length + 4;`,
  },
  {
    file: /ssh2[\\/]lib[\\/]protocol[\\/]Protocol\.js$/,
    from: `    packet.fill(0, p += 4, end);

    this._debug && this._debug(\`Outbound: Sending DISCONNECT`,
    to: `    packet.fill(0, p += 4, end);
    writeUInt32BE(packet, text.length, p);
    packet.write(text, p + 4, 'latin1');

    this._debug && this._debug(\`Outbound: Sending DISCONNECT`,
  },
  {
    // The package names another algorithm than the request (RFC 4252, section 7). Dropbear drops the key.
    file: /ssh2[\\/]lib[\\/]server\.js$/,
    from: 'this._protocol.authPKOK(this.key.algo, this.key.data);',
    to: `this._protocol.authPKOK(
        this.hashAlgo ? this.hashAlgo.replace('sha', 'rsa-sha2-') : this.key.algo,
        this.key.data,
      );`,
  },
  {
    // A client with too many sessions learns why the next one fails (RFC 4254, section 5.1).
    file: /ssh2[\\/]lib[\\/]server\.js$/,
    from: 'reason = CHANNEL_OPEN_FAILURE.CONNECT_FAILED;',
    to: 'reason = CHANNEL_OPEN_FAILURE.RESOURCE_SHORTAGE;',
  },
  {
    // The package sends no global requests of its own.
    file: /ssh2[\\/]lib[\\/]protocol[\\/]Protocol\.js$/,
    from: '  ping() {',
    to: `  sendPayload(payload) {
    const p = this._packetRW.write.allocStart;
    const packet = this._packetRW.write.alloc(payload.length);
    packet.set(payload, p);
    sendPacket(this, this._packetRW.write.finalize(packet));
  }
  ping() {`,
  },
  {
    // The package refuses to prove that the server has its host keys.
    file: /ssh2[\\/]lib[\\/]server\.js$/,
    from: "               || name === 'no-more-sessions@openssh.com'",
    to: "               || name === 'no-more-sessions@openssh.com'\n               || name === 'hostkeys-prove-00@openssh.com'",
  },
  {
    file: /ssh2[\\/]lib[\\/]server\.js$/,
    from: '                let bufPort;',
    to: '                let bufPort = Buffer.isBuffer(chosenPort) ? chosenPort : undefined;',
  },
  {
    // The package keeps everything that a client sends, also beyond the window (RFC 4254, section 5.2). A
    // session that reads nothing would fill the memory.
    file: /ssh2[\\/]lib[\\/]server\.js$/,
    from: `          if (channel.incoming.window === 0)
            return;

          channel.incoming.window -= data.length;`,
    to: `          if (data.length > channel.incoming.window) {
            proto.disconnect(DISCONNECT_REASON.PROTOCOL_ERROR);
            throw new Error('a client sent more than its window');
          }
          channel.incoming.window -= data.length;`,
  },
  {
    // The package writes the length, the content and the code of each packet by themselves. Each write
    // costs a call of the kernel, and wakes the client.
    file: /ssh2[\\/]lib[\\/]server\.js$/,
    from: `        if (isWritable(socket))
          socket.write(data);
      },`,
    to: `        if (!isWritable(socket))
          return;
        if (socket.writableCorked === 0) {
          socket.cork();
          process.nextTick(() => socket.uncork());
        }
        socket.write(data);
      },`,
  },
  {
    // The list of the package lacks a comma, and has algorithms that the server refuses.
    file: /ssh2[\\/]lib[\\/]protocol[\\/]Protocol\.js$/,
    from: `    'ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521'
      + 'rsa-sha2-512,rsa-sha2-256,ssh-rsa,ssh-dss';`,
    to: `    'ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,'
      + 'rsa-sha2-512,rsa-sha2-256,'
      + 'sk-ssh-ed25519@openssh.com,sk-ecdsa-sha2-nistp256@openssh.com'
      + (proto.moreSignatureAlgorithms || '');`,
  },
]

/** @type {import('esbuild').Plugin} */
export const ssh2Corrections = {
  name: 'ssh2-corrections',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]ssh2[\\/]lib[\\/]/ }, ({ path }) => {
      const corrections = CORRECTIONS.filter(({ file }) => file.test(path))
      if (corrections.length === 0) return undefined
      let contents = readFileSync(path, 'utf8')
      for (const { from, to } of corrections) {
        const parts = contents.split(from)
        if (parts.length !== 2) throw new Error(`${path} has no place for a correction: ${from}`)
        contents = parts.join(to)
      }
      return { contents, loader: 'js' }
    })
  },
}
