/** A trigram is a number of base 65,536 with three digits. */
const BASE = 0x10000

const LINE_FEED = 0x0a

/**
 * Reads the trigrams of a text: three units of UTF-16 in lower case on one line, each trigram once. Both
 * databases store and compare their tokens, so that they find the same files.
 */
export class TrigramReader {
  readonly #text: string
  readonly #found = new Set<number>()
  #next = 0
  #one = LINE_FEED
  #two = LINE_FEED

  constructor(text: string) {
    // The lower case of a sigma depends on what follows, and a query ends elsewhere than a word.
    this.#text = text.toLowerCase().replaceAll('ς', 'σ')
  }

  /** The number of trigrams so far. */
  get count(): number {
    return this.#found.size
  }

  /** Reads some more units, and returns whether others are left. */
  read(units: number): boolean {
    const end = Math.min(this.#next + units, this.#text.length)
    for (; this.#next < end; this.#next++) {
      const three = this.#text.charCodeAt(this.#next)
      if (this.#one !== LINE_FEED && this.#two !== LINE_FEED && three !== LINE_FEED)
        this.#found.add((this.#one * BASE + this.#two) * BASE + three)
      this.#one = this.#two
      this.#two = three
    }
    return end < this.#text.length
  }

  /** Returns the trigrams so far as words of letters and digits. */
  tokens(): string[] {
    return Array.from(this.#found, (trigram) => trigram.toString(36))
  }
}

/** Returns the tokens of the trigrams of a short text. */
export function trigramsOf(text: string): string[] {
  const reader = new TrigramReader(text)
  reader.read(text.length * 3)
  return reader.tokens()
}
