import { readFile, stat } from 'node:fs/promises'

/**
 * A file of the operator that is read again when it has changed. Without a readable file there is no
 * content: whoever asks gets the error.
 */
export class WatchedFile<T> {
  readonly #path: string
  readonly #what: string
  readonly #parse: (lines: ReadonlyMap<number, string>) => T
  #version: { readonly stamp: string; readonly content: T } | undefined

  /**
   * @param what the file has, for messages.
   * @param parse gets the lines that are neither empty nor remarks, by their numbers.
   */
  constructor(path: string, what: string, parse: (lines: ReadonlyMap<number, string>) => T) {
    this.#path = path
    this.#what = what
    this.#parse = parse
  }

  /**
   * Returns the content.
   *
   * @throws Error with a sentence for the operator when the file cannot be read.
   */
  async read(): Promise<T> {
    try {
      const { mtimeMs, size, ino } = await stat(this.#path)
      const stamp = `${mtimeMs} ${size} ${ino}`
      if (this.#version?.stamp === stamp) return this.#version.content
      const content = this.#parse(linesOf(await readFile(this.#path, 'utf8')))
      this.#version = { stamp, content }
      return content
    } catch (error) {
      if (!(error instanceof Error)) throw error
      const reason = 'code' in error ? `cannot be read: ${error.code}` : error.message
      throw new Error(`the ${this.#what} ${this.#path} ${reason}`)
    }
  }
}

function linesOf(text: string): ReadonlyMap<number, string> {
  const lines = text.split('\n').map((line, index) => [index + 1, line.trim()] as const)
  return new Map(lines.filter(([, line]) => line !== '' && !line.startsWith('#')))
}
