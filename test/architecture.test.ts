import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const src = fileURLToPath(new URL('../src/', import.meta.url))

/** What transport takes from the domain directly: the caller, errors, and the owner of a resource. */
const domainOfTransport = [
  'forge/app.ts',
  'forge/core/access.ts',
  'forge/core/errors.ts',
  'forge/accounts/credentials/browser-sessions.ts',
  'forge/accounts/sign-on/provider-visits.ts',
  'forge/accounts/credentials/credentials.ts',
  'forge/accounts/credentials/sudo.ts',
  'forge/accounts/sign-on/proxy-sign-in.ts',
  'forge/accounts/users/users.ts',
  'forge/deliveries/payloads.ts',
  'forge/notifications/unsubscribe.ts',
  'domain/oauth2/',
  'forge/repositories/content/readers.ts',
  'forge/repositories/refs/git-services.ts',
  'forge/administration/public-pages.ts',
]

/**
 * What each layer may import: prefixes of paths below src/, and of generated code as `#gen/…`. The
 * first row whose prefix fits a file counts.
 */
const arrows: readonly (readonly [from: string, to: readonly string[]])[] = [
  // The RPC library could be published alone: it knows nothing of Branchline.
  ['transport/rpc/', ['transport/rpc/', '#gen/google/', '#gen/rest/']],
  ['transport/', ['transport/', 'services/', 'concurrency/', ...domainOfTransport, '#gen/']],
  ['services/', ['services/', 'domain/', 'storage/schema/', 'version.ts', '#gen/']],
  ['domain/', ['domain/', 'storage/', 'git/', 'concurrency/']],
  ['storage/', ['storage/', 'concurrency/']],
  ['git/', ['git/', 'concurrency/']],
  // What the domain asks of the world is a type there.
  ['mail/', ['mail/', 'forge/accounts/ports.ts']],
  // The browser client knows the public API only.
  ['web/', ['web/', '#gen/']],
  ['markup/', ['markup/']],
  ['concurrency/', ['concurrency/']],
  // The composition root. Only these files import from every layer.
  ['server/', ['', '#gen/']],
  ['main.ts', ['cli.ts', 'node-version.mjs', 'private-files.ts']],
  [
    'cli',
    [
      'cli',
      'config',
      'data-folder.ts',
      'private-files.ts',
      'restore-target.ts',
      'log.ts',
      'server/',
      'version.ts',
      'domain/',
      'platform/git/processes/process-spawner.ts',
      'edge/errors.ts',
    ],
  ],
  ['data-folder.ts', ['storage/', 'platform/git/repositories/repositories.ts']],
  ['restore-target.ts', ['data-folder.ts', 'forge/administration/restore.ts', 'storage/']],
  [
    'config',
    [
      'config',
      'data-folder.ts',
      'domain/core/',
      'platform/outbound/allowed-hosts.ts',
      'forge/repositories/commits/merge-styles.ts',
    ],
  ],
  ['log.ts', ['config.ts', 'log-writer.ts']],
  ['log-writer.ts', []],
  ['private-files.ts', []],
  ['version.ts', ['../package.json']],
]

/**
 * The folders of each layer, the lowest floor first. A folder imports from lower floors of its
 * layer, never from its own floor or a higher one. A folder that is not named here belongs to the
 * nearest named folder around it.
 */
const floors: readonly (readonly (readonly string[])[])[] = [
  [
    ['domain/outbound/'],
    ['domain/core/'],
    ['domain/filters/', 'domain/memos/content/'],
    ['domain/accounts/'],
    ['domain/accounts/users/'],
    ['domain/accounts/keys/', 'domain/accounts/credentials/'],
    ['domain/accounts/sign-on/', 'domain/accounts/registration/'],
    ['domain/organizations/', 'domain/webhooks/'],
    ['domain/memos/', 'domain/oauth2/', 'domain/repos/'],
    ['domain/repos/access/'],
    [
      'domain/repos/events/',
      'domain/repos/reading/',
      'domain/repos/listing/',
      'domain/repos/planning/',
    ],
    ['domain/repos/protection/'],
    ['domain/repos/refs/'],
    ['domain/repos/writing/'],
    ['domain/repos/releases/', 'domain/repos/lifecycle/'],
    ['domain/hooks/'],
    ['domain/pulls/access/'],
    ['domain/pulls/heads/'],
    ['domain/pulls/changes/', 'domain/pulls/review/'],
    ['domain/pulls/listing/'],
    ['domain/pulls/merging/'],
    ['domain/pulls/lifecycle/', 'domain/pulls/branch-sync/'],
    [
      'domain/deliveries/',
      'domain/administration/',
      'domain/maintenance/',
      'domain/notifications/',
      'domain/web/',
    ],
    ['domain/'],
  ],
  [
    ['git/core/'],
    ['git/processes/'],
    ['git/hooks/'],
    ['git/repositories/'],
    ['git/objects/'],
    ['git/refs/', 'git/history/', 'git/diffs/'],
    ['git/merging/', 'git/transfer/'],
  ],
  [
    ['storage/schema/'],
    ['storage/dialects/'],
    ['storage/migrations/'],
    ['storage/database/'],
    ['storage/coordination/', 'storage/transfer/'],
    ['storage/accounts/', 'storage/memos/', 'storage/repos/'],
    ['storage/oauth2/', 'storage/organizations/', 'storage/webhooks/'],
    ['storage/pulls/'],
  ],
  [
    ['services/wire/'],
    ['services/accounts/'],
    ['services/memos/', 'services/organizations/'],
    ['services/repos/'],
    ['services/pulls/'],
    ['services/'],
  ],
  [
    ['transport/rpc/text/'],
    ['transport/rpc/exchange/'],
    ['transport/rpc/framed/', 'transport/rpc/rest/schema/'],
    ['transport/rpc/connect/', 'transport/rpc/grpc/', 'transport/rpc/grpc-web/'],
    ['transport/rpc/rest/request/'],
    ['transport/rpc/rest/'],
    ['transport/rpc/'],
    ['transport/errors/', 'transport/listener/', 'transport/openapi/'],
    ['transport/http/'],
    ['transport/callers/'],
    ['transport/pages/'],
    [
      'transport/calls/',
      'transport/git-http/',
      'transport/grpc/',
      'transport/oauth2/',
      'transport/web/',
    ],
    ['transport/'],
  ],
]

/** Packages that only some files may import. The last row that fits a package counts; packages without a row are free. */
const keepers: readonly (readonly [packages: RegExp, keptBy: readonly string[]])[] = [
  [/^nodegit$/, ['git/']],
  [/^kysely$/, ['storage/']],
  // Which of the two is loaded depends on the version of Node.
  [/^better-sqlite3(-napi)?$/, ['platform/database/sqlite.ts']],
  [/^pg$/, ['storage/database/', 'storage/coordination/']],
  // The domain knows neither protobuf nor RPC nor HTTP.
  [/^@(bufbuild|connectrpc)\//, ['transport/', 'services/', 'server/', 'web/']],
  // The browser has them, and the server has not.
  [/^(preact|dompurify|highlight\.js|@connectrpc\/connect-web)/, ['web/']],
  // Git of this machine is one more client of theirs: what it fetches from elsewhere it gets from a gateway on loopback.
  [/^node:http2?$/, ['transport/', 'platform/outbound/git-gateway.ts']],
  [/^nodemailer/, ['mail/']],
  [/^sanitize-html$/, ['markup/']],
  // Whoever connects elsewhere goes past the check of the destination.
  [/^undici$/, ['domain/outbound/']],
  // These exports of Connect may change in any release.
  [/^@connectrpc\/connect\/protocol/, ['platform/rpc/exchange/connect-internals.ts']],
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
  if (targets === undefined) return `${file} belongs to no layer`
  // A path out of src/ starts with dots, so that no beginning, the empty one included, lets it pass by chance.
  const named = target.startsWith('.') ? targets.filter((to) => to.startsWith('.')) : targets
  return startsWithAny(target, named) ? undefined : `${file} imports ${target}`
}

/** The named folder that holds a file, and the number of its floor; undefined outside of the floors. */
function floorOf(file: string): { layer: number; folder: string; floor: number } | undefined {
  let found: { layer: number; folder: string; floor: number } | undefined
  for (const [layer, levels] of floors.entries())
    for (const [floor, folders] of levels.entries())
      for (const folder of folders)
        if (file.startsWith(folder) && folder.length > (found?.folder.length ?? 0))
          found = { layer, folder, floor }
  return found
}

/** Why a file may not import another file of its layer; undefined if it may. */
function upwardImport(file: string, target: string): string | undefined {
  const from = floorOf(file)
  const to = floorOf(target)
  if (!from || !to || from.layer !== to.layer || from.folder === to.folder) return undefined
  return to.floor < from.floor ? undefined : `${file} imports ${target}, which is no lower`
}

/**
 * The groups of files that import each other in a circle.
 *
 * Source: R. Tarjan, Depth-first search and linear graph algorithms, SIAM Journal on Computing 1
 * (1972).
 */
function cyclesOf(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const number = new Map<string, number>()
  const stack: string[] = []
  const cycles: string[][] = []
  function visit(file: string): number {
    const own = number.size
    let low = own
    number.set(file, own)
    stack.push(file)
    for (const target of imports.get(file) ?? []) {
      if (!number.has(target)) low = Math.min(low, visit(target))
      else if (stack.includes(target)) low = Math.min(low, number.get(target) ?? own)
    }
    if (low === own) {
      const group = stack.splice(stack.indexOf(file))
      if (group.length > 1) cycles.push(group.sort())
    }
    return low
  }
  for (const file of imports.keys()) if (!number.has(file)) visit(file)
  return cycles
}

function startsWithAny(text: string, beginnings: readonly string[]): boolean {
  return beginnings.some((beginning) => text.startsWith(beginning))
}

/** `import … from '…'`, `export … from '…'` and `import '…'`, as the formatter writes them: at the beginning of a line. */
const staticImport = /^(?:import|export)\s(?:[\w$*{}\s,]+\sfrom\s)?['"]([^'"\n]+)['"]/gm
const dynamicImport = /\bimport\(\s*['"]([^'"\n]+)['"]/g

/** Lines that end a static import, and beginnings of dynamic ones: as many as there are imports. */
const signsOfImport = /^(?:(?:import|export|\}).*\sfrom ['"]|import ['"])|\bimport\(/gm

/** The specifiers of all imports in a source text. Throws if the text has imports of a form that is not understood. */
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
  .filter((path) => /\.tsx?$/.test(path))
  .map((path) => path.replaceAll('\\', '/'))
  .sort()

/** Text and imports inside src/ of each file. */
const sources = new Map(
  files.map((file) => {
    const text = readFileSync(join(src, file), 'utf8')
    return [file, { text, specifiers: importsOf(text) }]
  }),
)

const importsInside = new Map(
  [...sources].map(([file, { specifiers }]) => [
    file,
    specifiers
      .filter((specifier) => specifier.startsWith('.'))
      .map((specifier) => posix.join(posix.dirname(file), specifier))
      .filter((target) => sources.has(target)),
  ]),
)

const exportedDeclaration =
  /^export (?:abstract |async |declare )*(?:const|let|function\*?|class|interface|type|enum) (\w+)/gm

/** Names that two files of a layer declare and export, with these files. */
function repeatedNames(): string[] {
  const places = new Map<string, string[]>()
  for (const [file, { text }] of sources) {
    const layer = file.split('/')[0]
    if (file.startsWith('storage/migrations/')) continue
    for (const [, name] of text.matchAll(exportedDeclaration)) {
      const key = `${layer}: ${name}`
      places.set(key, [...(places.get(key) ?? []), file])
    }
  }
  return [...places]
    .filter(([, holders]) => new Set(holders).size > 1)
    .map(([key, holders]) => `${key} in ${holders.join(', ')}`)
}

/** Beginnings of lines that declare state of a module: a variable, or a collection that starts empty. */
const moduleState =
  /^(?:export )?(?:let |const \w+(?:: [^=]+)? = new (?:Map|Set|WeakMap|WeakSet)(?:<.*>)?\(\))/m

/** The files that may have state of their module, and why. */
const stateful: readonly (readonly [path: string, reason: string])[] = [
  ['transport/rpc/rest/', 'caches keyed by descriptors, which never change'],
  ['transport/rpc/text/', 'caches keyed by descriptors, which never change'],
  ['platform/git/processes/process-spawner-program.ts', 'the main file of a process of its own'],
  ['forge/administration/storage-peer-program.ts', 'the main file of a process of its own'],
  [
    'platform/database/rollbacks.ts',
    'what a transaction has done, which ends with the transaction',
  ],
]

describe('the layout of src/', () => {
  it('has no import of the same or a higher layer', () => {
    const mistakes = [...sources].flatMap(([file, { specifiers }]) =>
      specifiers.flatMap((specifier) => mistakeOf(file, specifier) ?? []),
    )
    expect(mistakes).toEqual([])
  })

  it('has no import of the same or a higher floor of a layer', () => {
    const mistakes = [...importsInside].flatMap(([file, targets]) =>
      targets.flatMap((target) => upwardImport(file, target) ?? []),
    )
    expect(mistakes).toEqual([])
  })

  it('has no import cycle between files, types included', () => {
    expect(cyclesOf(importsInside)).toEqual([])
  })

  it('declares each name once in a layer', () => {
    expect(repeatedNames()).toEqual([])
  })

  it('keeps state in objects that the server makes, not in modules', () => {
    const mistakes = [...sources]
      .filter(
        ([file, { text }]) =>
          moduleState.test(text) && !stateful.some(([path]) => file.startsWith(path)),
      )
      .map(([file]) => file)
    expect(mistakes).toEqual([])
  })

  it('has files in every folder that has a floor', () => {
    const folders = floors.flat(2)
    expect(folders.filter((folder) => !files.some((file) => file.startsWith(folder)))).toEqual([])
  })

  it.each([
    ['up', 'domain/repos/refs/a.ts', 'domain/pulls/heads/b.ts'],
    ['to the same floor', 'git/refs/a.ts', 'git/diffs/b.ts'],
    ['from a folder to the file above it', 'domain/core/a.ts', 'forge/app.ts'],
  ])('lets no folder import %s', (_, file, target) => {
    expect(upwardImport(file, target)).toContain(file)
  })

  it('finds a cycle through three files', () => {
    const imports = new Map([
      ['a', ['b']],
      ['b', ['c', 'd']],
      ['c', ['a']],
      ['d', []],
    ])
    expect(cyclesOf(imports)).toEqual([['a', 'b', 'c']])
  })
})

describe('dependency arrows', () => {
  it.each([
    ['up', 'storage/users.ts', '../domain/users.ts'],
    ['past a layer', 'services/users.ts', '../storage/users.ts'],
    ['past two layers', 'transport/access.ts', '../storage/users.ts'],
    [
      'from transport to a rule that is the business of services',
      'transport/access.ts',
      '../domain/accounts/credentials/passwords.ts',
    ],
    ['sideways', 'storage/users.ts', '../git/refs.ts'],
    ['out of the REST module', 'platform/rpc/exchange/node.ts', '../../errors/index.ts'],
    [
      'from the REST module to the schema',
      'transport/rpc/rest/rules.ts',
      '#gen/branchline/v1/user_pb.ts',
    ],
    ['from the domain to the schema', 'domain/users.ts', '#gen/branchline/v1/user_pb.ts'],
    ['from the domain to RPC', 'domain/errors.ts', '@connectrpc/connect'],
    ['from the domain to protobuf', 'domain/errors.ts', '@bufbuild/protobuf/wkt'],
    ['from the domain to SQL', 'domain/users.ts', 'kysely'],
    ['past the choice of a driver', 'storage/users.ts', 'better-sqlite3'],
    ['to libgit2', 'storage/users.ts', 'nodegit'],
    [
      'to the private parts of Connect',
      'transport/rpc/rest/node.ts',
      '@connectrpc/connect/protocol-connect',
    ],
    ['out of src/', 'app/server/app.ts', '../../test/support/app.ts'],
    ['from a new layer', 'helpers/strings.ts', './numbers.ts'],
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
