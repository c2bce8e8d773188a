import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parseAst } from 'vitest/node'
import { french as frenchOfServer } from '../../src/edge/web-shell/french.ts'
import { german as germanOfServer } from '../../src/edge/web-shell/german.ts'
import { type Catalogue, englishOf, filled } from '../../src/web/language/catalogue.ts'
import { french as frenchOfPages } from '../../src/web/language/french.ts'
import { german as germanOfPages } from '../../src/web/language/german.ts'

const german: Catalogue = { ...germanOfPages, ...germanOfServer }
const french: Catalogue = { ...frenchOfPages, ...frenchOfServer }

/** What the server says for a reason. English pages show the message of the server itself. */
const REASON = / @reason$/

const root = new URL('../../src/', import.meta.url)
const paths = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((path) => /^(web|edge\/web-shell)\/.*\.tsx?$/.test(path))
  .sort()
const sources = paths
  .filter((path) => !/\/(german|french)(-reasons)?\.ts$/.test(path))
  .map((path) => ({ path, nodes: treeOf(path) }))

/** Returns the texts of an entry: one, or one for each plural category. */
function textsOf(entry: Catalogue[string] | undefined): string[] {
  return typeof entry === 'object' ? [entry.one, entry.other] : [entry ?? '']
}

/** Returns the names in braces of a text, in alphabetical order. */
function namesOf(text: string): string[] {
  return [...new Set(text.match(/\{\w+\}/g))].sort()
}

describe.each([
  ['German', german],
  ['French', french],
])('each text of the pages in %s', (_, catalogue) => {
  it('exists', () => {
    expect(Object.keys(catalogue).sort()).toEqual(Object.keys(german).sort())
    expect(Object.keys(catalogue).filter((key) => textsOf(catalogue[key]).includes(''))).toEqual([])
  })

  it('has the values of the English text', () => {
    const different = Object.entries(catalogue).flatMap(([key, entry]) =>
      textsOf(entry).filter((text, i) => {
        // The singular may do without the number.
        const names = namesOf(text)
        const expected = REASON.test(key) ? namesOf(textsOf(german[key])[0] ?? '') : namesOf(key)
        const without = expected.filter((name) => name !== '{count}')
        const isSingular = typeof entry === 'object' && i === 0
        return names.join() !== expected.join() && !(isSingular && names.join() === without.join())
      }),
    )
    expect(different).toEqual([])
  })

  it('has the spaces of the English text at its ends', () => {
    const endsOf = (text: string) => [/^\s*/.exec(text)?.[0].length, /\s*$/.exec(text)?.[0].length]
    const different = Object.entries(catalogue).flatMap(([key, entry]) =>
      textsOf(entry).filter((text) => `${endsOf(text)}` !== `${endsOf(englishOf(key))}`),
    )
    expect(different).toEqual([])
  })
})

it('is in the catalogue of one subject only', () => {
  const keys = paths
    .filter((path) => path.endsWith('/german.ts') && !path.startsWith('web/language/'))
    .flatMap(keysOf)
  expect(keys.length).toBeGreaterThan(1000)
  expect(keys.filter((key, i) => keys.indexOf(key) !== i)).toEqual([])
})

it('is used by a page', () => {
  const literals = new Set(sources.flatMap(({ nodes }) => literalsOf(nodes)))
  const patterns = sources.flatMap(({ nodes }) => patternsOf(nodes))
  const unused = Object.keys(german).filter(
    (key) =>
      !REASON.test(key) && !literals.has(key) && !patterns.some((pattern) => pattern.test(key)),
  )
  expect(unused).toEqual([])
})

it('passes through the catalogues wherever a page has a text', () => {
  const loose = sources
    .filter(({ path }) => path.endsWith('.tsx'))
    .flatMap(({ path, nodes }) => looseTextsOf(nodes).map((found) => `${path}: ${found}`))
  expect(loose).toEqual([])
})

it('keeps names without a value', () => {
  expect(filled('{a} of {b}, {constructor}', { a: '{b}', b: '2' })).toBe('{b} of 2, {constructor}')
  expect(englishOf('Open @state')).toBe('Open')
  expect(englishOf('Write to bob @ home')).toBe('Write to bob @ home')
})

/** A node of a syntax tree (ESTree). */
interface Node {
  readonly type: string
  readonly [key: string]: unknown
}

function* nodesOf(value: unknown): Generator<Node> {
  if (Array.isArray(value)) for (const item of value) yield* nodesOf(item)
  else if (typeof value === 'object' && value !== null) {
    if ('type' in value && typeof value.type === 'string') yield value as Node
    for (const child of Object.values(value)) yield* nodesOf(child)
  }
}

/** Returns the nodes of the syntax tree of a file. */
function treeOf(path: string): Node[] {
  const text = readFileSync(new URL(path, root), 'utf8')
  return [...nodesOf(parseAst(text, { lang: path.endsWith('x') ? 'tsx' : 'ts' }))]
}

/** Returns the values of all literals of a file. */
function literalsOf(nodes: readonly Node[]): string[] {
  return nodes.flatMap((node) =>
    node.type === 'Literal' && typeof node.value === 'string' ? [node.value] : [],
  )
}

/** Returns patterns of the texts that the templates of a file make. */
function patternsOf(nodes: readonly Node[]): RegExp[] {
  return nodes.flatMap((node) => {
    if (node.type !== 'TemplateLiteral') return []
    const quasis = node.quasis as { value: { cooked: string } }[]
    const parts = quasis.map(({ value }) => value.cooked)
    // One without a word could be anything.
    return parts.some(isWords) ? [new RegExp(`^${parts.map(escaped).join('.*')}$`)] : []
  })
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}

/** Returns the keys of a catalogue, those of its forms left out. */
function keysOf(path: string): string[] {
  return treeOf(path).flatMap((node) => {
    if (node.type !== 'Property') return []
    const { name, value } = node.key as { name?: string; value?: string }
    const key = name ?? value ?? ''
    const isForm = (key === 'one' || key === 'other') && name !== undefined
    return isForm ? [] : [key]
  })
}

/** Attributes that people see or hear. */
const TEXT_ATTRIBUTES: readonly string[] = [
  'about',
  'action',
  'alt',
  'aria-description',
  'aria-label',
  'done',
  'heading',
  'hint',
  'label',
  'placeholder',
  'question',
  'submit',
  'summary',
  'title',
]

/** Names and examples of code, which are the same in all languages. */
const NAMES: readonly string[] = ['Branchline', 'LFS', 'LFS:', 'Markdown.', 'src/**/*.ts !test']

function isWords(text: string): boolean {
  return /\p{L}{2}/u.test(text) && !NAMES.includes(text.trim())
}

/** Returns the texts of elements and attributes that stand in the file itself. */
function looseTextsOf(nodes: readonly Node[]): string[] {
  const inCode = new Set(
    nodes
      .filter((node) => node.type === 'JSXElement' && /^(code|kbd|pre|title)$/.test(tagOf(node)))
      .flatMap((node) => [...nodesOf(node)]),
  )
  return nodes.flatMap((node) => {
    if (inCode.has(node)) return []
    if (node.type === 'JSXText' && isWords(String(node.value))) return [String(node.value).trim()]
    if (node.type !== 'JSXAttribute') return []
    const name = (node.name as { name?: unknown }).name
    const value = node.value as Node | null
    const isText = TEXT_ATTRIBUTES.includes(String(name)) && value?.type === 'Literal'
    return isText && isWords(String(value.value)) ? [`${name}="${value.value}"`] : []
  })
}

function tagOf(element: Node): string {
  const { name } = element.openingElement as { name: { name?: unknown } }
  return String(name.name ?? '')
}
