import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const src = fileURLToPath(new URL('../src/', import.meta.url))
const bench = fileURLToPath(new URL('../bench/', import.meta.url))

/** The folders of the platform, the lowest first. A folder imports from those before it. */
const PLATFORM = [
  'concurrency',
  'filters',
  'markup',
  'mail',
  'database',
  'outbound',
  'git',
  'objects',
  // The RPC library could be published alone, so the listener imports from it and not the reverse.
  'rpc',
  'http',
  'ssh',
]

/** The subjects of the forge, the lowest first. A subject imports from those before it. */
const SUBJECTS = [
  'migrations',
  'core',
  'accounts',
  'organizations',
  'webhooks',
  'memos',
  'repositories',
  'conversations',
  'pulls',
  'issues',
  'imports',
  'notifications',
  'deliveries',
  'oauth2',
  'administration',
]

/** The groups of folders inside two parts of the platform, the lowest first, by the same rule. */
const FLOORS: readonly (readonly (readonly string[])[])[] = [
  [
    ['platform/git/core/'],
    ['platform/git/processes/'],
    ['platform/git/hooks/'],
    ['platform/git/repositories/'],
    ['platform/git/objects/'],
    ['platform/git/refs/', 'platform/git/history/', 'platform/git/diffs/'],
    ['platform/git/merging/', 'platform/git/packs/'],
  ],
  [
    ['platform/rpc/text/'],
    ['platform/rpc/exchange/'],
    ['platform/rpc/framed/', 'platform/rpc/rest/schema/'],
    ['platform/rpc/connect/', 'platform/rpc/grpc/', 'platform/rpc/grpc-web/'],
    ['platform/rpc/rest/request/'],
    ['platform/rpc/rest/'],
    ['platform/rpc/'],
  ],
]

/** The imports of a higher subject that remain. Each row must be in use. */
const UPWARD: readonly (readonly [from: RegExp, to: RegExp, reason: string])[] = [
  [
    /^(accounts|repositories)\//,
    /^pulls\/merging\/scheduled-merges\.rows\.ts$/,
    'a change of rights, rules or statuses wakes scheduled merges in its own transaction',
  ],
  [
    /^(accounts|organizations)\//,
    /^repositories\/access\/lost-access\.rows\.ts$/,
    'a change that takes access away deletes stars and subscriptions in its own transaction',
  ],
  [
    /^accounts\/users\/(account\.service|blocks|owners)\.ts$/,
    /^organizations\/(organization-access|organizations\.rows|schema)\.ts$/,
    'an owner is a user or an organization',
  ],
  [
    /^accounts\/users\/blocks\.ts$/,
    /^repositories\/(access\/collaborators|activity\/stars)\.rows\.ts$/,
    'a block ends collaborations and stars in its own transaction',
  ],
  [
    /^accounts\/credentials\/delegated-tokens\.ts$/,
    /^oauth2\/authorizations\.rows\.ts$/,
    'a token that an application received is a credential',
  ],
  [
    /^accounts\/users\/user\.service\.ts$/,
    /^(memos\/activity|webhooks\/registration|administration)\//,
    'UserService has RPCs about memos, webhooks and deletion',
  ],
  [
    /^organizations\/team\.service\.ts$/,
    /^repositories\/(access\/team-repositories|lifecycle\/repository\.message)\.ts$/,
    'TeamService has RPCs about repositories',
  ],
  [
    /^organizations\/(organizations|teams\.rows)\.ts$/,
    /^repositories\/(access\/repository-readers\.rows|lifecycle\/repositories\.rows|schema)\.ts$/,
    'an organization with repositories cannot be deleted; teams list readable repositories',
  ],
  [
    /^webhooks\/(outbox\/ref-observer|registration\/repository-webhooks)\.ts$/,
    /^repositories\/(ports|access\/permissions|refs\/ref-index)\.ts$/,
    'repositories have webhooks, and events about refs',
  ],
  [
    /^webhooks\/registration\/(account-webhooks|webhook-methods)\.service\.ts$/,
    /^(memos\/activity\/memo-events|deliveries\/webhook-payloads)\.ts$/,
    'the services of webhooks send test events and show payloads',
  ],
  [
    /^repositories\/content\/branch-changes\.ts$/,
    /^pulls\/heads\/pull-heads\.rows\.ts$/,
    'a branch into which a pull request is open cannot be deleted',
  ],
]

/** The subjects whose `.rows.ts` a higher subject imports. Each must be in use. */
const ROWS_OF_OTHERS: Readonly<Record<string, readonly string[]>> = {
  administration: ['accounts', 'conversations', 'memos', 'repositories'],
  conversations: ['accounts', 'repositories', 'webhooks'],
  deliveries: ['accounts', 'conversations', 'pulls', 'repositories', 'webhooks'],
  imports: ['accounts', 'conversations', 'issues', 'pulls', 'repositories'],
  issues: ['accounts', 'conversations', 'pulls', 'repositories'],
  memos: ['accounts', 'webhooks'],
  notifications: ['accounts', 'conversations', 'pulls', 'repositories'],
  oauth2: ['accounts', 'pulls'],
  organizations: ['accounts'],
  pulls: ['accounts', 'conversations', 'organizations', 'repositories'],
  repositories: ['accounts', 'organizations'],
  webhooks: ['accounts', 'organizations'],
}

/** The services whose file has the name of the subject: on the wire, a webhook is a hook. */
const SERVICE_NAMES: Readonly<Record<string, string>> = {
  hook: 'repository-webhooks',
  'organization-hook': 'organization-webhooks',
  'system-hook': 'system-webhooks',
  'user-hook': 'user-webhooks',
}

/** The role of a file of the forge. */
type Role = 'service' | 'topic' | 'rows' | 'schema' | 'errors' | 'ports' | 'migration'

function roleOf(file: string): Role {
  if (file.startsWith('forge/migrations/')) return 'migration'
  if (/\.(service|message)\.ts$|^forge\/core\/wire\/|^forge\/service[\w-]*\.ts$/.test(file))
    return 'service'
  if (/\.rows\.ts$/.test(file)) return 'rows'
  if (/(\/|\.)schema\.ts$/.test(file)) return 'schema'
  if (/\/ports\.ts$|^forge\/app\.ts$/.test(file)) return 'ports'
  // The errors of core are the list of reasons, which rules throw.
  if (file === 'forge/core/refusal.ts') return 'errors'
  if (/(\/|\.)errors\.ts$/.test(file) && file !== 'forge/core/errors.ts') return 'errors'
  return 'topic'
}

/** What a role may import: roles of the forge, folders of the platform, and whether generated code. */
const MAY_IMPORT: Readonly<
  Record<Role, { roles: readonly Role[]; platform: readonly string[]; gen: boolean }>
> = {
  service: { roles: ['service', 'topic', 'schema', 'ports'], platform: ['rpc'], gen: true },
  topic: {
    roles: ['topic', 'rows', 'schema', 'ports', 'migration'],
    platform: PLATFORM.filter((folder) => folder !== 'rpc' && folder !== 'http'),
    gen: false,
  },
  rows: { roles: ['rows', 'schema'], platform: ['database', 'concurrency'], gen: false },
  schema: { roles: ['schema'], platform: ['database'], gen: false },
  errors: { roles: ['errors', 'topic'], platform: [], gen: true },
  ports: { roles: ['topic', 'schema', 'ports'], platform: PLATFORM, gen: false },
  migration: { roles: ['migration'], platform: ['database'], gen: false },
}

/** Packages that only some files may import. The last row that fits a package counts; packages without a row are free. */
const KEEPERS: readonly (readonly [packages: RegExp, keptBy: RegExp])[] = [
  [/^nodegit$/, /^platform\/git\//],
  [
    /^kysely$/,
    /^platform\/database\/|^forge\/migrations\/|^forge\/.*(\.rows|\/schema|\.schema)\.ts$/,
  ],
  // Which of the two is loaded depends on the version of Node.
  [/^better-sqlite3(-napi)?$/, /^platform\/database\/sqlite\.ts$/],
  [/^pg$/, /^platform\/database\//],
  // Rules know neither protobuf nor RPC nor HTTP.
  [
    /^@(bufbuild|connectrpc)\//,
    /^(platform\/(rpc|http)|edge|app|web)\/|^forge\/core\/(wire\/|refusal\.ts$)|^forge\/(?!core\/errors).*[./](service|message|errors)\.ts$|^forge\/service-registry\.ts$/,
  ],
  // The browser has them, and the server has not.
  [/^(preact|dompurify|highlight\.js|@connectrpc\/connect-web)/, /^web\//],
  // Git of this machine is one more client of theirs: what it fetches from elsewhere it gets from a gateway on loopback.
  [/^node:http2?$/, /^(platform\/(rpc|http)|edge)\/|^platform\/outbound\/git-gateway\.ts$/],
  [/^nodemailer/, /^platform\/mail\//],
  [/^sanitize-html$/, /^platform\/markup\//],
  // A text can take seconds, so a thread of its own parses.
  [/^yaml$/, /^platform\/markup\//],
  // Whoever connects elsewhere goes past the check of the destination.
  [/^undici$/, /^platform\/outbound\//],
  // These exports of Connect may change in any release.
  [/^@connectrpc\/connect\/protocol/, /^platform\/rpc\/exchange\/connect-internals\.ts$/],
  // With it an import could hide from this test. The file loads an addon at its first use, by one line.
  [/^node:module$/, /^platform\/git\/core\/libgit2\.ts$/],
]

const subjectOf = (file: string) => /^forge\/([\w-]+)\//.exec(file)?.[1] ?? ''
const folderOf = (file: string) => /^platform\/([\w-]+)\//.exec(file)?.[1] ?? ''

/** What is wrong with an import of a file, both relative to src/; undefined if nothing is. */
function mistakeOf(file: string, specifier: string): string | undefined {
  const target = specifier.startsWith('.') ? posix.join(posix.dirname(file), specifier) : specifier
  const isRight = /^[.#]/.test(specifier)
    ? mayImport(file, target)
    : (KEEPERS.findLast(([packages]) => packages.test(specifier))?.[1].test(file) ?? true)
  return isRight ? undefined : `${file} imports ${target}`
}

function mayImport(file: string, target: string): boolean {
  if (target === '../package.json') return file === 'forge/core/version.ts'
  const part = file.split('/')[0]
  switch (part) {
    case 'app':
      return !target.startsWith('..') && !target.startsWith('web/')
    case 'edge':
      // The shell of the web pages names the scripts and the feeds of the page that an address has, knows
      // whether the page has first calls, and has texts in the languages of the pages.
      return (
        /^(#gen|edge)\/|^platform\/(?!(database|git)\/)|^web\/(routes\.ts|feed-links\.ts|first-calls\/first-calls\.ts|language\/)/.test(
          target,
        ) || isTaken(target)
      )
    case 'forge':
      return forgeMayImport(file, target)
    case 'platform':
      return platformMayImport(folderOf(file), target)
    case 'web':
      return /^(#gen|web)\//.test(target)
    default:
      return false
  }
}

/** Whether the edge may take a file of the forge: no rows. */
function isTaken(target: string): boolean {
  return target.startsWith('forge/') && !['rows', 'migration'].includes(roleOf(target))
}

function forgeMayImport(file: string, target: string): boolean {
  const { roles, platform, gen } = MAY_IMPORT[roleOf(file)]
  if (target.startsWith('#gen/')) return gen
  if (target.startsWith('platform/')) return platform.includes(folderOf(target))
  return target.startsWith('forge/') && roles.includes(roleOf(target))
}

function platformMayImport(folder: string, target: string): boolean {
  if (folder === 'rpc') return /^(platform\/rpc|#gen\/(google|rest))\//.test(target)
  return PLATFORM.slice(0, PLATFORM.indexOf(folder) + 1).includes(folderOf(target))
}

/** Whether a file of the forge imports one of a higher subject. `app.ts` and the list of services stand above all. */
function isUpward(file: string, target: string): boolean {
  if (!file.startsWith('forge/') || !target.startsWith('forge/')) return false
  const [from, to] = [subjectOf(file), subjectOf(target)]
  if (from === '') return false
  // Handlers receive the sum of the ports.
  if (to === '') return !(target === 'forge/app.ts' && roleOf(file) === 'service')
  return SUBJECTS.indexOf(to) > SUBJECTS.indexOf(from)
}

const exceptionOf = (file: string, target: string) =>
  UPWARD.findIndex(([from, to]) => from.test(file.slice(6)) && to.test(target.slice(6)))

/** The named folder that holds a file, and the number of its floor; undefined outside of the floors. */
function floorOf(file: string): { layer: number; folder: string; floor: number } | undefined {
  let found: { layer: number; folder: string; floor: number } | undefined
  for (const [layer, levels] of FLOORS.entries())
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

const readTexts = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => path.replaceAll('\\', '/'))
    .sort()
    .map((path) => [path, readFileSync(join(folder, path), 'utf8')] as const)

/** Text and imports inside src/ of each file. */
const sources = new Map(
  readTexts(src).map(([file, text]) => [file, { text, specifiers: importsOf(text) }]),
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

const edges = [...importsInside].flatMap(([file, targets]) =>
  targets.map((target) => [file, target] as const),
)

const exportedDeclaration =
  /^export (?:abstract |async |declare )*(?:const|let|function\*?|class|interface|type|enum) (\w+)/gm

/** In the forge a name is declared once per role, elsewhere once per folder of a part. */
function realmOf(file: string): string {
  if (file.startsWith('forge/')) return roleOf(file)
  const [part = '', folder = ''] = file.split('/')
  return part === 'platform' || part === 'app' ? folder : part
}

/** Names that two files of a role or a part declare and export, with these files. */
function repeatedNames(): string[] {
  const places = new Map<string, string[]>()
  for (const [file, { text }] of sources) {
    // Each migration has the same names, and each subject has a catalogue for each language.
    if (roleOf(file) === 'migration' || /\/(german|french)\.ts$/.test(file)) continue
    for (const [, name] of text.matchAll(exportedDeclaration)) {
      const key = `${realmOf(file)}: ${name}`
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
  ['platform/rpc/rest/', 'caches keyed by descriptors, which never change'],
  ['platform/rpc/text/', 'caches keyed by descriptors, which never change'],
  ['platform/git/processes/process-spawner-program.ts', 'the main file of a process of its own'],
  ['platform/ssh/ssh-program.ts', 'the main file of a process of its own'],
  ['forge/administration/storage-peer-program.ts', 'the main file of a process of its own'],
  [
    'platform/database/rollbacks.ts',
    'what a transaction has done, which ends with the transaction',
  ],
]

/** Services that a file defines, each by the stem of its proto file. */
function servicesOf(text: string): string[] {
  return [...text.matchAll(/defineService\(\s*(\w+Service)\b/g)].map(([, name]) => {
    const proto = new RegExp(`\\b${name}\\b[^;']*from '#gen/branchline/v1/(\\w+)_service_pb\\.ts'`)
    return (proto.exec(text)?.[1] ?? `of ${name}`).replaceAll('_', '-')
  })
}

describe('the layout of src/', () => {
  it('has only imports that the part and the role of a file may have', () => {
    const mistakes = [...sources].flatMap(([file, { specifiers }]) =>
      specifiers.flatMap((specifier) => mistakeOf(file, specifier) ?? []),
    )
    expect(mistakes).toEqual([])
  })

  it('has no import of a higher subject but the listed ones', () => {
    const mistakes = edges.filter(
      ([file, target]) => isUpward(file, target) && exceptionOf(file, target) < 0,
    )
    expect(mistakes.map((edge) => edge.join(' imports '))).toEqual([])
    const used = new Set(
      edges.filter(([file, target]) => isUpward(file, target)).map((edge) => exceptionOf(...edge)),
    )
    expect(UPWARD.filter((_, i) => !used.has(i))).toEqual([])
  })

  it('has no import of the rows of a lower subject but the listed ones', () => {
    const pairs = edges
      .filter(([file, target]) => roleOf(target) === 'rows' && !isUpward(file, target))
      .map(([file, target]) => [subjectOf(file), subjectOf(target)] as const)
      .filter(([from, to]) => from !== to)
      .map((pair) => pair.join(' imports rows of '))
    const listed = Object.entries(ROWS_OF_OTHERS).flatMap(([from, all]) =>
      all.map((to) => `${from} imports rows of ${to}`),
    )
    expect([...new Set(pairs)].sort()).toEqual(listed.sort())
  })

  it('has no import of the same or a higher floor inside of Git and RPC', () => {
    expect(edges.flatMap(([file, target]) => upwardImport(file, target) ?? [])).toEqual([])
  })

  it('has no import cycle between files, types included', () => {
    expect(cyclesOf(importsInside)).toEqual([])
  })

  it('names the folders of the platform and the forge', () => {
    const folders = (part: string) => [
      ...new Set(
        [...sources.keys()]
          .map((file) => file.split('/'))
          .filter(([first, , third]) => first === part && third)
          .map(([, folder = '']) => folder),
      ),
    ]
    expect(folders('platform').filter((folder) => !PLATFORM.includes(folder))).toEqual([])
    expect(folders('forge').filter((folder) => !SUBJECTS.includes(folder))).toEqual([])
    expect(
      FLOORS.flat(2).filter(
        (folder) => ![...sources.keys()].some((file) => file.startsWith(folder)),
      ),
    ).toEqual([])
  })

  it('serves each service from the file of its name', () => {
    const mistakes = [...sources].flatMap(([file, { text }]) =>
      servicesOf(text)
        .filter((stem) => posix.basename(file) !== `${SERVICE_NAMES[stem] ?? stem}.service.ts`)
        .map((stem) => `${file} defines the service ${stem}`),
    )
    expect(mistakes).toEqual([])
  })

  it('has only types in ports', () => {
    const mistakes = [...sources].filter(
      ([file, { text }]) =>
        /\/ports\.ts$/.test(file) && /^(import (?!type )|export (?!(type|interface) ))/m.test(text),
    )
    expect(mistakes.map(([file]) => file)).toEqual([])
  })

  it('declares each name once per role', () => {
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

  it('is used by the benchmarks through the platform only', () => {
    const mistakes = readTexts(bench).flatMap(([file, text]) =>
      [...text.matchAll(/'(\.\.\/src\/(?!platform\/)[^']*)'/g)].map(
        ([, path]) => `${file} imports ${path}`,
      ),
    )
    expect(mistakes).toEqual([])
  })

  it.each([
    ['up', 'platform/git/core/a.ts', 'platform/git/objects/b.ts'],
    ['to the same floor', 'platform/git/refs/a.ts', 'platform/git/diffs/b.ts'],
    ['from a folder to the file above it', 'platform/rpc/rest/a.ts', 'platform/rpc/server.ts'],
  ])('lets no folder import %s', (_, file, target) => {
    expect(upwardImport(file, target)).toContain(file)
  })

  it.each([
    ['a higher subject', 'forge/accounts/users/a.ts', 'forge/pulls/heads/b.ts'],
    ['the sum of the ports from a rule', 'forge/memos/a.ts', 'forge/app.ts'],
    ['the list of services', 'forge/memos/a.service.ts', 'forge/services.ts'],
  ])('knows an import of %s', (_, file, target) => {
    expect(isUpward(file, target)).toBe(true)
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

describe('an import', () => {
  it.each([
    ['from the platform to the forge', 'platform/mail/a.ts', '../../forge/accounts/ports.ts'],
    ['up inside the platform', 'platform/database/a.ts', '../git/refs/refs.ts'],
    ['from the forge to the edge', 'forge/core/a.ts', '../../edge/errors.ts'],
    ['from the edge to the assembly', 'edge/a.ts', '../app/config.ts'],
    ['from the edge to rows', 'edge/a.ts', '../forge/accounts/users/users.rows.ts'],
    ['from the edge to the database', 'edge/a.ts', '../platform/database/database.ts'],
    ['from a service to rows', 'forge/memos/memo.service.ts', './memos.rows.ts'],
    ['from a rule to a service', 'forge/memos/memos.ts', './memo.service.ts'],
    ['from a rule to the schema', 'forge/memos/memos.ts', '#gen/branchline/v1/user_pb.ts'],
    ['from a rule to RPC', 'forge/core/errors.ts', '@connectrpc/connect'],
    ['from a rule to protobuf', 'forge/core/errors.ts', '@bufbuild/protobuf/wkt'],
    ['from a rule to SQL', 'forge/memos/memos.ts', 'kysely'],
    ['from rows to rules', 'forge/memos/memos.rows.ts', './memos.ts'],
    ['from rows to Git', 'forge/memos/memos.rows.ts', '../../platform/git/refs/refs.ts'],
    ['out of the RPC module', 'platform/rpc/exchange/node.ts', '../../http/requests.ts'],
    [
      'from the RPC module to the schema',
      'platform/rpc/rest/a.ts',
      '#gen/branchline/v1/user_pb.ts',
    ],
    ['past the choice of a driver', 'forge/memos/memos.rows.ts', 'better-sqlite3'],
    ['to libgit2', 'forge/memos/memos.ts', 'nodegit'],
    [
      'to the private parts of Connect',
      'platform/rpc/rest/a.ts',
      '@connectrpc/connect/protocol-connect',
    ],
    ['from the pages to the forge', 'web/memos/memos.page.tsx', '../../forge/memos/memos.ts'],
    ['out of src/', 'app/server/app.ts', '../../../test/support/app.ts'],
    ['from a new part', 'helpers/strings.ts', './numbers.ts'],
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
  ])('is read from %j', (text, specifier) => {
    expect(importsOf(`${text}\n\nexport const from = 'elsewhere'\n`)).toEqual([specifier])
  })

  it.each(['const a = await import(name)', "import {\n  // the one\n  a,\n} from './a.ts'"])(
    'is not overlooked where it cannot be read: %j',
    (text) => {
      expect(() => importsOf(text)).toThrow('imports, of which 0')
    },
  )
})
