import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const src = fileURLToPath(new URL('../src/', import.meta.url))

/**
 * What transport takes from the rules directly: who calls, what went wrong, and whose resource a
 * call is about.
 */
const rulesOfTransport = [
  'domain/app.ts',
  'domain/core/access.ts',
  'domain/core/deadlines.ts',
  'domain/core/errors.ts',
  'domain/accounts/credentials/credentials.ts',
  'domain/accounts/sign-on/proxy-sign-in.ts',
  'domain/accounts/credentials/sudo.ts',
  'domain/accounts/users/users.ts',
  'domain/repos/refs/git-services.ts',
]

/**
 * What each part of src/ may import, all of it by beginnings of paths: files below src/ and
 * generated code as `#gen/…`. The first row that fits a file counts.
 */
const arrows: readonly (readonly [from: string, to: readonly string[]])[] = [
  // It could be published alone: it knows the options it reads and nothing of Branchline.
  ['transport/rest/', ['transport/rest/', '#gen/google/', '#gen/branchline/rest/']],
  ['transport/', ['transport/', 'services/', ...rulesOfTransport, '#gen/']],
  ['services/', ['services/', 'domain/', 'version.ts', '#gen/']],
  ['domain/', ['domain/', 'storage/', 'git/']],
  ['storage/', ['storage/']],
  ['git/', ['git/']],
  ['mail/', ['mail/']],
  // The composition root. It alone may import from every room.
  ['server.ts', ['', '#gen/']],
  ['main.ts', ['cli.ts', 'node-version.mjs']],
  [
    'cli',
    [
      'cli',
      'config.ts',
      'data-folder.ts',
      'log.ts',
      'server.ts',
      'version.ts',
      'domain/',
      'git/processes/process-spawner.ts',
      'transport/errors/index.ts',
    ],
  ],
  ['data-folder.ts', ['storage/', 'git/repositories/repositories.ts']],
  [
    'config.ts',
    ['domain/app.ts', 'domain/outbound/allowed-hosts.ts', 'domain/repos/writing/merge-styles.ts'],
  ],
  ['log.ts', ['config.ts', 'log-writer.ts']],
  ['log-writer.ts', []],
  ['started-parts.ts', []],
  ['version.ts', ['../package.json']],
]

/**
 * Packages that only some files may import. The last row that fits a package counts; packages
 * without a row are free.
 */
const keepers: readonly (readonly [packages: RegExp, keptBy: readonly string[]])[] = [
  [/^nodegit$/, ['git/']],
  [/^kysely$/, ['storage/']],
  // Which of the two is loaded depends on the version of Node.
  [/^better-sqlite3(-napi)?$/, ['storage/database/sqlite.ts']],
  // The rules know neither protobuf nor RPC nor HTTP.
  [/^@(bufbuild|connectrpc)\//, ['transport/', 'services/', 'server.ts']],
  // Git of this machine is one more client of theirs: what it fetches from elsewhere it gets from a
  // gateway on loopback.
  [/^node:http2?$/, ['transport/', 'domain/outbound/git-gateway.ts']],
  [/^nodemailer/, ['mail/']],
  // Whoever connects elsewhere goes past the check of the destination.
  [/^undici$/, ['domain/outbound/']],
  // These exports of Connect may change in any release.
  [/^@connectrpc\/connect\/protocol/, ['transport/rpc/exchange/connect-internals.ts']],
  // With it an import could hide from this test.
  [/^node:module$/, []],
]

/** What is wrong with an import of a file, both relative to src/; undefined if nothing is. */
function mistakeOf(file: string, specifier: string): string | undefined {
  if (!specifier.startsWith('.') && !specifier.startsWith('#')) {
    const keptBy = keepers.findLast(([packages]) => packages.test(specifier))?.[1]
    return keptBy && !startsWithAny(file, keptBy) ? `${file} imports ${specifier}` : undefined
  }
  const target = specifier.startsWith('.') ? posix.join(posix.dirname(file), specifier) : specifier
  const targets = arrows.find(([from]) => file.startsWith(from))?.[1]
  if (targets === undefined) return `${file} has no place among the rooms`
  // A path out of src/ starts with dots, so that no beginning, the empty one included, lets it pass
  // by chance.
  const named = target.startsWith('.') ? targets.filter((to) => to.startsWith('.')) : targets
  return startsWithAny(target, named) ? undefined : `${file} imports ${target}`
}

function startsWithAny(text: string, beginnings: readonly string[]): boolean {
  return beginnings.some((beginning) => text.startsWith(beginning))
}

/**
 * `import … from '…'`, `export … from '…'` and `import '…'`, as the formatter writes them: at the
 * beginning of a line.
 */
const staticImport = /^(?:import|export)\s(?:[\w$*{}\s,]+\sfrom\s)?['"]([^'"\n]+)['"]/gm
const dynamicImport = /\bimport\(\s*['"]([^'"\n]+)['"]/g

/** Lines that end a static import, and beginnings of dynamic ones: as many as there are imports. */
const signsOfImport = /^(?:(?:import|export|\}).*\sfrom ['"]|import ['"])|\bimport\(/gm

/**
 * The specifiers of all imports in a source text. Throws if the text has imports of a form that is
 * not understood.
 */
function importsOf(text: string): string[] {
  const specifiers = [...text.matchAll(staticImport), ...text.matchAll(dynamicImport)].map(
    ([, specifier = '']) => specifier,
  )
  const signs = [...text.matchAll(signsOfImport)].map(([sign]) => sign)
  if (signs.length !== specifiers.length)
    throw new Error(`${signs.length} imports, of which ${specifiers.length} were read`)
  return specifiers
}

const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => path.replaceAll('\\', '/'))
  .sort()

describe('dependency arrows', () => {
  it('point down only, in every file of src/', () => {
    const mistakes = files.flatMap((file) =>
      importsOf(readFileSync(join(src, file), 'utf8')).flatMap(
        (specifier) => mistakeOf(file, specifier) ?? [],
      ),
    )
    expect(mistakes).toEqual([])
  })

  it.each([
    ['up', 'storage/accounts/users.ts', '../domain/users.ts'],
    ['past a room', 'services/accounts/users.ts', '../storage/users.ts'],
    ['past two rooms', 'transport/callers/access.ts', '../storage/users.ts'],
    [
      'to a rule that transport has no business with',
      'transport/callers/access.ts',
      '../domain/accounts/passwords.ts',
    ],
    ['sideways', 'storage/accounts/users.ts', '../git/refs.ts'],
    ['out of the REST module', 'transport/rpc/exchange/node.ts', '../errors.ts'],
    [
      'from the REST module to the schema',
      'transport/rpc/rest/schema/rules.ts',
      '#gen/branchline/v1/user_pb.ts',
    ],
    ['from the rules to the schema', 'domain/users.ts', '#gen/branchline/v1/user_pb.ts'],
    ['from the rules to RPC', 'domain/core/errors.ts', '@connectrpc/connect'],
    ['from the rules to protobuf', 'domain/core/errors.ts', '@bufbuild/protobuf/wkt'],
    ['from the rules to SQL', 'domain/users.ts', 'kysely'],
    ['past the choice of a driver', 'storage/accounts/users.ts', 'better-sqlite3'],
    ['to libgit2', 'storage/accounts/users.ts', 'nodegit'],
    [
      'to the private parts of Connect',
      'transport/rpc/exchange/node.ts',
      '@connectrpc/connect/protocol-connect',
    ],
    ['out of src/', 'server.ts', '../test/support/app.ts'],
    ['from a new room', 'helpers/strings.ts', './numbers.ts'],
  ])('may not lead %s', (_, file, specifier) => {
    expect(mistakeOf(file, specifier)).toContain(file)
  })

  it.each([
    ["import { a } from './a.ts'", './a.ts'],
    ["import a, { type b } from './a.ts'", './a.ts'],
    ["import type { a } from '#gen/a.ts'", '#gen/a.ts'],
    ["import {\n  a,\n  b as c,\n} from './a.ts'", './a.ts'],
    ["import * as a from 'a'", 'a'],
    ["import a from './a.json' with { type: 'json' }", './a.json'],
    ["import './a.ts'", './a.ts'],
    ["export * from './a.ts'", './a.ts'],
    ["export { a } from './a.ts'", './a.ts'],
    ["export type { a } from './a.ts'", './a.ts'],
    ["const a = await import('./a.ts')", './a.ts'],
    ["type A = import('./a.ts').A", './a.ts'],
  ])('are read from %j', (text, specifier) => {
    expect(importsOf(`${text}\n\nexport const from = 'elsewhere'\n`)).toEqual([specifier])
  })

  it.each(['const a = await import(name)', "import {\n  // the one\n  a,\n} from './a.ts'"])(
    'are not overlooked where they cannot be read: %j',
    (text) => {
      expect(() => importsOf(text)).toThrow('imports, of which 0')
    },
  )
})
