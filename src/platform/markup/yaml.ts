import { isAlias, isMap, isScalar, isSeq, parseDocument, type Scalar } from 'yaml'

/** A value of YAML without tags, in the terms of JSON. */
export type YamlValue =
  | string
  | number
  | boolean
  | null
  | readonly YamlValue[]
  | { readonly [key: string]: YamlValue }

/** What a text is: a value, or the fault of the text. */
export type YamlResult = { readonly value: YamlValue } | { readonly error: string }

const MAX_DEPTH = 32
const MAX_ALIASES = 100

/** Of the characters of all values, with all aliases expanded. Each value counts for some more. */
const MAX_CHARACTERS = 4 * 1024 ** 2
const CHARACTERS_OF_VALUE = 8

/** A fault that the parser does not find. */
class YamlFault extends Error {}

/**
 * Parses a text of YAML 1.2 with the core schema, which has no tags. A large text takes seconds, so
 * this runs in a thread of its own.
 */
export function parseYaml(text: string): YamlResult {
  try {
    // The check for unique keys of the parser takes time in proportion to the square of the keys.
    const document = parseDocument(text, {
      version: '1.2',
      schema: 'core',
      uniqueKeys: false,
      prettyErrors: false,
      logLevel: 'error',
    })
    const [error] = document.errors
    if (error) return { error: `line ${lineAt(text, error.pos[0])}: ${error.message}` }
    return { value: new Values().of(document.contents, 1) }
  } catch (error) {
    if (error instanceof YamlFault) return { error: error.message }
    // The parser calls itself for each level of the text.
    if (error instanceof RangeError) return { error: 'the text is nested too deeply' }
    throw error
  }
}

function lineAt(text: string, position: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at >= 0 && at < position; at = text.indexOf('\n', at + 1))
    line += 1
  return line
}

/** Converts the nodes of one document. */
class Values {
  readonly #anchors = new Map<string, unknown>()
  #aliases = 0
  #characters = 0

  of(node: unknown, depth: number): YamlValue {
    if (depth > MAX_DEPTH) throw new YamlFault('the text is nested too deeply')
    this.#count('')
    if (isAlias(node)) {
      this.#aliases += 1
      if (this.#aliases > MAX_ALIASES) throw new YamlFault('the text has too many aliases')
      const named = this.#anchors.get(node.source)
      if (named === undefined) throw new YamlFault(`no value is named ${node.source.slice(0, 80)}`)
      return this.of(named, depth + 1)
    }
    if (isScalar(node) || isMap(node) || isSeq(node)) {
      if (node.tag !== undefined) throw new YamlFault('the text has a tag')
      if (node.anchor !== undefined) this.#anchors.set(node.anchor, node)
    }
    if (isScalar(node)) return this.#scalar(node)
    if (isSeq(node)) return node.items.map((item) => this.of(item, depth + 1))
    if (isMap(node)) return this.#map(node.items, depth)
    return null
  }

  #map(items: readonly { key: unknown; value: unknown }[], depth: number): YamlValue {
    const entries = new Map<string, YamlValue>()
    for (const { key, value } of items) {
      const name = String(this.of(key, depth + 1))
      if (entries.has(name)) throw new YamlFault(`the key ${name.slice(0, 80)} appears twice`)
      entries.set(name, this.of(value, depth + 1))
    }
    return Object.fromEntries(entries)
  }

  #scalar({ value, source }: Scalar): YamlValue {
    if (typeof value === 'string') this.#count(value)
    if (typeof value === 'boolean' || value === null || Number.isFinite(value)) {
      return value as boolean | number | null
    }
    // JSON has no infinite numbers.
    return typeof value === 'string' ? value : (source ?? '')
  }

  #count(text: string): void {
    this.#characters += text.length + CHARACTERS_OF_VALUE
    if (this.#characters > MAX_CHARACTERS) throw new YamlFault('the text is too large')
  }
}
