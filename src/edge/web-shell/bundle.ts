import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Language } from '../../web/language/languages.ts'
import type { PageName } from '../../web/routes.ts'
import { type ConstantContent, weakTag } from '../operator-pages/constant-page.ts'

/** Where the files of the pages are. No account can be named `-`. */
export const ASSETS = '/-/assets/'

/** The contents of `manifest.json`, which `scripts/setup/bundle-web.mjs` writes. */
interface Manifest {
  /** Files that every page loads, in the order of their need. */
  readonly scripts: readonly string[]
  /** The other files that each page loads, its own file first. */
  readonly pages: Readonly<Partial<Record<PageName, readonly string[]>>>
  /** The files with the texts of each language but English. */
  readonly languages: Readonly<Partial<Record<Language, readonly string[]>>>
  /** The script that begins the calls of the first view. */
  readonly begin: string
  readonly style: string
  readonly icon: string
  /** Names of all files, each with a hash of its content. */
  readonly files: readonly string[]
}

/** The bundled pages. */
export interface WebBundle extends Omit<Manifest, 'files' | 'icon'> {
  /** The icon as an address with its content, so that a first visit has one request less. */
  readonly icon: string
  readonly files: ReadonlyMap<string, ConstantContent>
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

/** A name stands for one content forever, since a part of it is a hash (RFC 8246). */
const CACHE_CONTROL = 'public, max-age=31536000, immutable'

/**
 * Reads the bundled pages into memory, where one copy serves all clients. A later build does not
 * change what a running server sends.
 *
 * @throws Error with a sentence for the operator if there are none.
 */
export async function readWebBundle(folder: string): Promise<WebBundle> {
  try {
    const { files, icon, ...manifest } = await readManifest(folder)
    const contents = await Promise.all(
      files.map(async (name) => [name, await readAsset(folder, name)] as const),
    )
    const svg = await readFile(join(folder, icon), 'base64')
    return { ...manifest, icon: `data:image/svg+xml;base64,${svg}`, files: new Map(contents) }
  } catch (cause) {
    throw new Error(
      `the web pages cannot be read from ${folder}: build them by "npm run build", or start with --web off`,
      { cause },
    )
  }
}

async function readManifest(folder: string): Promise<Manifest> {
  // The build has written the file, and its test compares it with the files.
  return JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8')) as Manifest
}

async function readAsset(folder: string, name: string): Promise<ConstantContent> {
  const path = join(folder, name)
  const [body, br, gzip] = await Promise.all([
    readFile(path),
    readFile(`${path}.br`),
    readFile(`${path}.gz`),
  ])
  const extension = name.slice(name.lastIndexOf('.') + 1)
  return {
    contentType: CONTENT_TYPES[extension] ?? 'application/octet-stream',
    cacheControl: CACHE_CONTROL,
    tag: weakTag(body),
    forms: new Map([
      [undefined, body],
      ['br', br],
      ['gzip', gzip],
    ]),
  }
}
