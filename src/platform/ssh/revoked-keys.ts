import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'

const FINGERPRINT = /^SHA256:[A-Za-z0-9+/]{43}$/
/**
 * A public key as in `authorized_keys`: the type, the key in base64, and perhaps a comment. A key
 * begins with the length of its type (RFC 4253, section 6.6), which is far below 2^24.
 */
const PUBLIC_KEY = /^[a-z0-9@.-]+ (AAAA[A-Za-z0-9+/]+={0,2})(?: .*)?$/
/** The serial number of a certificate. */
const SERIAL = /^serial:\d{1,20}$/

/** What makes a version of the file another one. */
interface Version {
  readonly stamp: string
  readonly fingerprints: ReadonlySet<string>
}

/**
 * The keys that the operator has revoked, in a file that is read again when it has changed. A file
 * that cannot be read revokes nothing and allows nothing: whoever asks gets the error.
 */
export class RevokedKeys {
  readonly #path: string
  #version: Version | undefined

  constructor(path: string) {
    this.#path = path
  }

  /**
   * @param fingerprint as OpenSSH prints it.
   * @throws Error with a sentence for the operator when the file cannot be read.
   */
  async has(fingerprint: string): Promise<boolean> {
    const fingerprints = await this.read()
    return fingerprints.has(fingerprint)
  }

  /**
   * Returns the fingerprints of the revoked keys.
   *
   * @throws Error with a sentence for the operator.
   */
  async read(): Promise<ReadonlySet<string>> {
    const { mtimeMs, size, ino } = await stat(this.#path).catch((error: unknown) => {
      throw unreadable(this.#path, error)
    })
    const stamp = `${mtimeMs} ${size} ${ino}`
    if (this.#version?.stamp === stamp) return this.#version.fingerprints
    const text = await readFile(this.#path, 'utf8').catch((error: unknown) => {
      throw unreadable(this.#path, error)
    })
    const fingerprints = new Set<string>()
    for (const [index, line] of text.split('\n').entries()) {
      const entry = line.trim()
      // No certificate signs in, so that the serial number of one revokes nothing yet.
      if (entry === '' || entry.startsWith('#') || SERIAL.test(entry)) continue
      const fingerprint = fingerprintIn(entry)
      if (fingerprint === undefined) {
        throw new Error(
          `line ${index + 1} of the revoked SSH keys ${this.#path} is no fingerprint, no public key and no serial:N`,
        )
      }
      fingerprints.add(fingerprint)
    }
    this.#version = { stamp, fingerprints }
    return fingerprints
  }
}

function fingerprintIn(entry: string): string | undefined {
  if (FINGERPRINT.test(entry)) return entry
  const [, key] = PUBLIC_KEY.exec(entry) ?? []
  if (key === undefined) return undefined
  const digest = createHash('sha256').update(Buffer.from(key, 'base64')).digest('base64')
  return `SHA256:${digest.replace(/=+$/, '')}`
}

function unreadable(path: string, error: unknown): Error {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
  return new Error(`the revoked SSH keys ${path} cannot be read: ${code}`)
}
