import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { build } from 'esbuild'
import type { Plugin } from 'vitest/config'

const root = new URL('../../', import.meta.url).pathname

/** Where the compiled modules are, in the folders of the source. */
const compiled = join(root, 'dist', 'compiled')

/** A relative import of a TypeScript file, or one of generated code, in the output of esbuild. */
const IMPORT = /(\b(?:from|import)\s*\(?")((?:\.|#gen\/)[^"]*)\.ts"/g

/**
 * Compiles the source for Node, and makes tests import the result. Node then loads each module once for
 * all test files of a worker, where Vitest would transform and evaluate a thousand modules for each.
 * One file stays one file, so that a stack trace names it.
 */
export async function compiledSource(): Promise<Plugin> {
  await compile()
  return {
    name: 'compiled-source',
    enforce: 'pre',
    resolveId(specifier, importer) {
      const path = sourcePath(specifier, importer)
      return path === undefined ? undefined : join(compiled, path.replace(/\.ts$/, '.js'))
    },
  }
}

/** Returns the path of a compiled module relative to the clone; undefined for other modules. */
function sourcePath(specifier: string, importer: string | undefined): string | undefined {
  if (specifier.startsWith('#gen/')) return specifier.slice(1)
  if (!specifier.startsWith('.') || importer === undefined) return undefined
  const path = relative(root, join(dirname(importer), specifier))
  return /^(?:src|gen)\/.*\.m?[jt]s$/.test(path) ? path : undefined
}

async function compile(): Promise<void> {
  const files = ['src', 'gen'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.m?ts$|\.mjs$/.test(name) && !name.endsWith('.d.ts'))
      .map((name) => join(folder, name)),
  )
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: files.filter((file) => !file.endsWith('.mjs')),
    outdir: compiled,
    outbase: root,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    supported: { 'import-attributes': true },
  })
  const results = [
    ...outputFiles.map(({ path, text }) => ({ path, text: text.replace(IMPORT, '$1$2.js"') })),
    // These are JavaScript already. The package defines what `#gen/` is.
    ...[...files.filter((file) => file.endsWith('.mjs')), 'package.json'].map((file) => ({
      path: join(compiled, file),
      text: readFileSync(join(root, file), 'utf8'),
    })),
  ]
  for (const { path, text } of results) replaceFile(path, text)
  removeOthers(new Set(results.map(({ path }) => path)))
}

/** Replaces a changed file by a rename, so that a run of tests beside this one never reads a part. */
function replaceFile(path: string, text: string): void {
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return
  mkdirSync(dirname(path), { recursive: true })
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, text)
  renameSync(draft, path)
}

/** Removes what was compiled from files that have been removed since. */
function removeOthers(kept: ReadonlySet<string>): void {
  for (const entry of readdirSync(compiled, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile() && /\.m?js$/.test(path) && !kept.has(path)) rmSync(path)
  }
}
