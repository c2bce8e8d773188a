import { treePath } from '../../../platform/git/objects/trees.ts'
import type { Caller } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { compileGlob, type Matcher } from '../../core/globs.ts'
import type { RepositoryName } from '../../core/names.ts'
import type { ReposApp } from '../ports.ts'
import { getRawFile } from './contents.ts'
import { notFound } from './git-reading.ts'
import type { RefPath } from './ref-paths.ts'

/**
 * EditorConfig files (https://spec.editorconfig.org, version 0.17). Everybody who can push can write
 * one, so files and globs have limits, and globs match in linear time.
 */

/** The longest file that is read. */
const MAX_BYTES = 64 * 1024

/**
 * The most characters of all globs together. Common files have fewer than a hundred. The longest globs
 * take milliseconds to compile.
 */
const MAX_GLOB_CHARACTERS = 4096

/** The most numbers of a range such as `{1..9}`. A section with more of them matches no file. */
const MAX_RANGE = 64

/** Properties whose values are lower case, whatever the file has. */
const LOWER_CASE = new Set([
  'charset',
  'end_of_line',
  'indent_size',
  'indent_style',
  'insert_final_newline',
  'tab_width',
  'trim_trailing_whitespace',
])

type Properties = Map<string, string>

/** A section of a file. */
interface Section {
  readonly glob: string
  readonly properties: Properties
}

/** Returns what `.editorconfig` at the root of a commit says about a file, which need not exist. */
export async function getEditorConfig(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  { ref, path }: RefPath,
): Promise<Properties> {
  const file = await getRawFile(app, caller, name, { ref, path: '.editorconfig' })
  if (file.bytes > MAX_BYTES) throw new DomainError('TEXT_TOO_COMPLEX')
  const place = treePath(path)
  if (!place) throw notFound('PATH_NOT_FOUND', 'path', path)
  const chunks: Buffer[] = []
  for await (const chunk of file.chunks(undefined)) chunks.push(chunk)
  return editorConfigOf(Buffer.concat(chunks).toString(), place)
}

/**
 * Returns the properties that an EditorConfig file at the root gives to a file, by name in lower
 * case. Later sections win. `unset` removes a property.
 *
 * @param path from the root, with slashes
 */
export function editorConfigOf(text: string, path: string): Properties {
  const properties: Properties = new Map()
  for (const section of sectionsOf(text)) {
    if (!matcherOf(section.glob)(path)) continue
    for (const [name, value] of section.properties) properties.set(name, value)
  }
  const [style, size, width] = ['indent_style', 'indent_size', 'tab_width'].map((name) =>
    properties.get(name),
  )
  if (style === 'tab' && size === undefined) properties.set('indent_size', width ?? 'tab')
  if (size !== undefined && size !== 'tab' && width === undefined) properties.set('tab_width', size)
  for (const [name, value] of properties) if (value === 'unset') properties.delete(name)
  return properties
}

/**
 * Returns the sections of a file. Lines that are neither section nor property do not count. Regular
 * expressions would take time in proportion to the square of the spaces in a line.
 */
function sectionsOf(text: string): Section[] {
  const sections: Section[] = []
  let globCharacters = 0
  for (const line of text
    .replace(/^\ufeff/, '')
    .split('\n')
    .map((untrimmed) => untrimmed.trim())) {
    if (line.length > 2 && line.startsWith('[') && line.endsWith(']')) {
      const glob = line.slice(1, -1)
      globCharacters += glob.length
      if (globCharacters > MAX_GLOB_CHARACTERS) throw new DomainError('TEXT_TOO_COMPLEX')
      sections.push({ glob, properties: new Map() })
      continue
    }
    const equals = line.indexOf('=')
    if (equals < 1 || line.startsWith('#') || line.startsWith(';')) continue
    const [key, value] = [line.slice(0, equals).trim().toLowerCase(), line.slice(equals + 1).trim()]
    sections.at(-1)?.properties.set(key, LOWER_CASE.has(key) ? value.toLowerCase() : value)
  }
  return sections
}

/** Returns the matcher of a section. A glob without a slash matches in every folder. */
function matcherOf(glob: string): Matcher {
  const expanded = glob.replace(
    /\{(-?\d{1,9})\.\.(-?\d{1,9})\}/g,
    (_, first: string, last: string) => `{${numbersOf(Number(first), Number(last)).join(',')}}`,
  )
  // Braces without a comma stand for themselves.
  const literal = expanded.replace(/\{([^{},\\]*)\}/g, '\\{$1\\}')
  const matches = compileGlob(literal.replace(/^\//, ''), '/') ?? (() => false)
  if (glob.includes('/')) return matches
  return (path) => matches(path.slice(path.lastIndexOf('/') + 1))
}

function numbersOf(first: number, last: number): number[] {
  const [low, high] = [Math.min(first, last), Math.max(first, last)]
  if (high - low >= MAX_RANGE) return []
  return Array.from({ length: high - low + 1 }, (_, index) => low + index)
}
