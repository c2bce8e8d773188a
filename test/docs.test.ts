import { existsSync, readdirSync } from 'node:fs'
import { join, posix } from 'node:path'
import { MethodOptions_IdempotencyLevelSchema as IdempotencyLevelSchema } from '@bufbuild/protobuf/wkt'
import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { AudienceSchema } from '#gen/branchline/access/v1/access_pb.ts'
import { ErrorReasonSchema } from '#gen/branchline/v1/error_reason_pb.ts'
import { RepositoryEvent_TypeSchema } from '#gen/branchline/v1/repository_event_pb.ts'
import { CodeSchema } from '#gen/google/rpc/code_pb.ts'
import { program } from '../src/app/cli.ts'
import { serveOptions } from '../src/app/config/options.ts'
import { defaultListenerLimits } from '../src/platform/http/listener/limits.ts'
import { anchorsOf, codeOf, linksOf, ROOT, readPage, tableBelow } from './support/markdown.ts'
import { startTestServer } from './support/server.ts'

const docs = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.md'),
)
const pages = [
  'README.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'deploy/README.md',
  ...docs.map((name) => `docs/${name}`),
]
const operations = readPage('docs/operations.md')

/** The values of the enums that the pages speak of. */
const declared = new Set(
  [
    ErrorReasonSchema,
    CodeSchema,
    AudienceSchema,
    IdempotencyLevelSchema,
    RepositoryEvent_TypeSchema,
  ].flatMap(({ values }) => values.map(({ name }) => name)),
)

/** The commands of a page, such as `user create`, each with the flags that it is shown with. */
function commandsOf(page: string): Map<string, Set<string>> {
  const commands = new Map<string, Set<string>>()
  for (const [, line = ''] of page.matchAll(/^ {4}node dist\/main\.js (.*)$/gm)) {
    const [command = ''] = /^[a-z-]+(?: [a-z]+)*/.exec(line) ?? []
    commands.set(
      command,
      new Set([...(commands.get(command) ?? []), ...(line.match(/--[a-z-]+/g) ?? [])]),
    )
  }
  return commands
}

/** What can be typed, such as `user create`. */
function commandLines({ commands }: Command, before = ''): Map<string, Command> {
  return new Map(
    commands.flatMap((command) => {
      const name = `${before}${command.name()}`
      return command.commands.length > 0
        ? [...commandLines(command, `${name} `)]
        : [[name, command] as const]
    }),
  )
}

/** What is wrong with a link of a page; undefined if nothing is. */
function mistakeOf(page: string, target: string): string | undefined {
  if (/^https?:/.test(target)) return undefined
  const [path = '', anchor] = target.split('#')
  const file = path === '' ? page : posix.join(posix.dirname(page), path)
  if (!existsSync(join(ROOT, file))) return `${target}: there is no ${file}`
  const found = anchor === undefined || anchorsOf(readPage(file)).has(anchor)
  return found ? undefined : `${target}: ${file} has no such heading`
}

describe.each(pages)('%s', (page) => {
  it('has no broken link', () => {
    expect(linksOf(readPage(page)).flatMap((target) => mistakeOf(page, target) ?? [])).toEqual([])
  })

  it('names files that exist', () => {
    const paths = codeOf(readPage(page)).filter((text) =>
      /^(src|test|proto|docs|scripts|\.ci)\/[\w./-]*$/.test(text),
    )
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
  })

  it('names reasons, codes and options that exist', () => {
    const constants = codeOf(readPage(page)).filter((text) => /^[A-Z]+(_[A-Z]+)+$/.test(text))
    expect(
      constants.filter((text) => !declared.has(text) && !text.startsWith('BRANCHLINE_')),
    ).toEqual([])
  })
})

describe('links', () => {
  it.each([
    ['to a missing file', 'docs/operations.md', 'nowhere.md'],
    ['to a file from the wrong folder', 'docs/operations.md', 'README.md'],
    ['to a missing heading', 'README.md', 'docs/operations.md#nowhere'],
    ['to a missing heading of the same page', 'README.md', '#nowhere'],
  ])('are found broken: %s', (_, page, target) => {
    expect(mistakeOf(page, target)).toContain(target)
  })

  it.each([
    ['README.md', 'docs/operations.md#settings'],
    ['docs/operations.md', '../README.md#the-first-five-minutes'],
    ['README.md', 'https://example.org/nowhere'],
  ])('are found good: in %s, %s', (page, target) => {
    expect(mistakeOf(page, target)).toBeUndefined()
  })
})

describe('docs/operations.md', () => {
  it('lists every setting with its variable and its default', () => {
    const listed = tableBelow(operations, '## Settings').map((row) =>
      row.slice(0, 3).map((cell) => cell.replaceAll('`', '')),
    )
    const settings = serveOptions().map(
      ({ flags, envVar, defaultValueDescription: preset = 'none' }) => {
        return [flags, envVar, preset === 'none' ? '–' : preset]
      },
    )
    expect(listed).toEqual(settings)
  })

  it('shows every command, with flags that it has', () => {
    const commands = commandLines(program())
    const shown = commandsOf(operations)
    expect([...shown.keys()].sort()).toEqual([...commands.keys()].sort())
    const unknown = [...shown].flatMap(([command, flags]) => {
      const known = commands.get(command)?.options.map(({ long }) => long)
      return [...flags].filter((flag) => !known?.includes(flag)).map((flag) => `${command} ${flag}`)
    })
    expect(unknown).toEqual([])
  })

  it('says of every setting what it means', () => {
    const rows = tableBelow(operations, '## Settings')
    expect(rows.filter(([, , , meaning = '']) => meaning === '')).toEqual([])
  })

  it('names metrics that are there', async () => {
    const named = tableBelow(operations, '## Metrics').flatMap(([metric = '']) => codeOf(metric))
    const server = await startTestServer()
    try {
      await fetch(`${server.url}/api/v1/users/nobody`)
      const printed = await (await fetch(`${server.url}/metrics`)).text()
      const beginnings = named.map((name) => name.replace('…', ''))
      expect(beginnings.filter((name) => !printed.includes(`\n# TYPE ${name}`))).toEqual([])
    } finally {
      await server.stop()
    }
  })

  it('names log messages that the server writes', () => {
    const rows = tableBelow(operations, '### Messages')
    const named = rows.flatMap(([message = '']) => codeOf(message))
    const source = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readPage(`src/${name}`))
      .join('\n')
    expect(named).not.toEqual([])
    expect(named.filter((message) => !source.includes(`'${message}`))).toEqual([])
  })

  it('states the limits of the listener as they are', () => {
    const limits = new Map(
      tableBelow(operations, '## Limits').map(([limit = '', value = '']) => [limit, value]),
    )
    const {
      maxConnections,
      maxConnectionsPerPeer,
      headersTimeoutMs,
      stallTimeoutMs,
      keepAliveTimeoutMs,
      sessionIdleTimeoutMs,
      maxHeaderBytes,
      maxHeaderFields,
      maxConcurrentStreams,
    } = defaultListenerLimits
    const stated = [...limits.values()]
    expect(stated).toEqual(
      expect.arrayContaining([
        `${maxConnections}, ${maxConnectionsPerPeer}`,
        `${headersTimeoutMs / 1000} s`,
        `${stallTimeoutMs / 1000} s`,
        `${keepAliveTimeoutMs / 1000} s, ${sessionIdleTimeoutMs / 1000} s`,
        `${maxHeaderBytes / 1024} KiB; ${maxHeaderFields}`,
        `${maxConcurrentStreams}`,
      ]),
    )
  })
})

describe('docs/decisions/', () => {
  it('has an index of all pages', () => {
    const pages = readdirSync(join(ROOT, 'docs', 'decisions')).filter(
      (name) => name !== 'README.md',
    )
    const listed = tableBelow(readPage('docs/decisions/README.md'), '## Pages').map(
      ([page = '']) => /\((.+)\)/.exec(page)?.[1],
    )
    expect(listed.sort()).toEqual(pages.sort())
  })
})
