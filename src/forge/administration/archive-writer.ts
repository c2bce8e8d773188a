import { type Readable, Transform, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Header, type Pack, pack } from 'tar-stream'
import { EntriesDigest } from './archive.ts'

/** The owner of the files is the user that restores them. */
const FILE = { mode: 0o600, uid: 0, gid: 0 } as const

/** Writes the entries of an archive into a stream. */
export class ArchiveWriter {
  readonly #archive: Pack = pack()
  readonly #digest = new EntriesDigest()
  readonly #written: Promise<void>

  /** @param output is ended after the archive. */
  constructor(output: Writable) {
    this.#written = pipeline(this.#archive, output)
    // Awaited at the end. A failure of the output also fails the entries.
    this.#written.catch(() => {})
  }

  /** The digest of the entries so far. */
  get digest(): string {
    return this.#digest.value
  }

  /** Adds an entry whose content is in memory. */
  addContent(name: string, content: string | Buffer, more: Partial<Header> = {}): Promise<void> {
    const header = { ...FILE, name, ...more }
    this.#digest.begin(header)
    this.#digest.add(content)
    this.#digest.end(Buffer.byteLength(content))
    return new Promise((resolve, reject) => {
      this.#archive.entry(header, content, (error) => (error ? reject(error) : resolve()))
    })
  }

  /** Adds an entry whose content comes from a stream. */
  async addFile(header: Pick<Header, 'name' | 'size'>, content: Readable): Promise<void> {
    const digest = this.#digest
    digest.begin(header)
    let bytes = 0
    const digested = new Transform({
      transform(chunk: Buffer, _, done) {
        digest.add(chunk)
        bytes += chunk.length
        done(null, chunk)
      },
    })
    await pipeline(content, digested, this.#archive.entry({ ...FILE, ...header }))
    digest.end(bytes)
  }

  /** Ends the archive. Resolves when the output has all of it. */
  async end(): Promise<void> {
    this.#archive.finalize()
    await this.#written
  }

  /** Ends the output after a failure, and returns the failure that came first. */
  async abort(error: unknown): Promise<unknown> {
    this.#archive.destroy()
    return this.#written.then(
      () => error,
      (failure: unknown) => failure ?? error,
    )
  }
}
