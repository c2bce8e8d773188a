import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { JsonObject } from '@bufbuild/protobuf'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { type GitClient, openGitClient, remoteOf } from '../../support/git-client.ts'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { pullMerges } from '../../support/pull-merges.ts'
import { type Actor, PASSWORD, startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>
let merges: ReturnType<typeof pullMerges>
let client: GitClient

beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
  merges = pullMerges(server)
  client = await openGitClient()
})
afterAll(async () => {
  for (const { id } of await server.app.db.selectFrom('repositories').select('id').execute()) {
    await client.git('.', '-C', repositoryPath(server.app.git, id), 'fsck', '--full', '--strict')
  }
  await server.stop()
  await client.remove()
})

/** The address by which everybody knows somebody. */
async function addressOf({ username }: Actor): Promise<string> {
  return (await forge.rest(users.eve, 'GET', `/users/search?q=${username}`)).body.data[0].email
}

let names = 0

interface Proposal {
  /** Files of the default branch. */
  readonly templates?: Readonly<Record<string, string>>
  /** Who writes a commit each. */
  readonly authors?: readonly string[]
  /** The last paragraph of each of these commits. */
  readonly trailers?: readonly string[]
  readonly title?: string
  readonly body?: string
}

/** A text in which `<Name>` stands for a place for something of that name. */
const placed = (text: string) => text.replaceAll(/<([A-Za-z]+)>/g, (_, name) => `$\{${name}}`)

/** Returns the message that the server has proposed for a style. */
function proposalIn(proposals: JsonObject, style: unknown = 'merge'): string {
  const messages = proposals.messages as { style: string; title: string; message: string }[]
  const { title, message } = messages.find((found) => found.style === style) ?? expect.fail()
  return [title, ...(message === '' ? [] : [message])].join('\n\n')
}

/** A pull request of bob's from `topic` to `main`, which has gone on since. */
async function proposed({
  templates = {},
  authors = ['bob <bob@example.org>'],
  trailers = [],
  title = 'Mend it',
  body = '',
}: Proposal) {
  names += 1
  const name = `message${names}`
  const { path, pulls } = await forge.repository(users.bob, name)
  await client.git('.', 'clone', '-q', remoteOf(server.url, `bob/${name}`, 'bob', PASSWORD), name)
  const git = (...args: string[]) => client.git(name, ...args)
  await git('checkout', '-q', '-b', 'topic')
  for (const [i, author] of authors.entries()) {
    await writeFile(join(client.home, name, `file${i}`), `${i}`)
    await git('add', '.')
    const paragraphs = [
      `Change ${i}`,
      'Because.',
      ...(trailers[i] === undefined ? [] : [trailers[i]]),
    ]
    await git('commit', '-q', ...paragraphs.flatMap((text) => ['-m', text]), `--author=${author}`)
  }
  await git('push', '-q', 'origin', 'topic')
  for (const [file, content] of Object.entries({ base: 'base\n', ...templates })) {
    const place = file.includes('_TEMPLATE') ? `.gitea/default_merge_message/${file}` : file
    await forge.ask(users.bob, 'POST', `${path}/contents/${place}`, {
      content: Buffer.from(placed(content)).toString('base64'),
    })
  }
  await forge.ask(users.bob, 'POST', pulls, { head: 'topic', base: 'main', title, body })
  return {
    path,
    pull: `${pulls}/1`,
    /** The message of the commit by which it is merged, by ada. */
    async mergedBy(order: JsonObject) {
      const proposals = await forge.ask(users.ada, 'GET', `${pulls}/1/merge/messages`)
      const { status, body: answer } = await merges.merge(users.ada, `${pulls}/1`, order)
      expect([status, answer]).toEqual([200, {}])
      await git('fetch', '-q', 'origin')
      const written = await git('log', '-1', '--format=%B', 'origin/main')
      const keepsMessages = order.Do === 'rebase' && Object.keys(templates).length === 0
      if (Object.keys(order).every((key) => key === 'Do'))
        expect(proposalIn(proposals, order.Do)).toBe(keepsMessages ? '' : written)
      return written
    },
  }
}

describe('the message of a merge commit contains', () => {
  const merge = "Merge pull request 'Mend it' (#1) from topic into main"
  it.each<[what: string, order: JsonObject, message: string]>([
    ['the usual', {}, merge],
    ['the usual by its style', { Do: 'squash' }, 'Mend it (#1)'],
    ['the usual by another style', { Do: 'rebase-merge' }, merge],
    ['what its commits say', { Do: 'rebase' }, 'Change 0\n\nBecause.'],
    [
      'what its commits say, with more',
      { Do: 'rebase', MergeMessageField: 'So it is.' },
      'Change 0\n\nSo it is.',
    ],
    ['a title of its own', { Do: 'rebase', MergeTitleField: ' Anew ' }, 'Anew'],
    [
      'the usual, and more',
      { MergeMessageField: '\n So it is.\r\nYes.\n\n' },
      `${merge}\n\nSo it is.\nYes.`,
    ],
    [
      'what somebody wants',
      { merge_title_field: ' Title ', merge_message_field: ' Body ' },
      'Title\n\nBody',
    ],
    [
      'the usual for blanks',
      { Do: 'squash', MergeTitleField: '  ', MergeMessageField: ' \n' },
      'Mend it (#1)',
    ],
    ['no null bytes', { MergeTitleField: 'a\0b' }, 'ab'],
  ])('%s', async (_, order, message) => {
    expect(await (await proposed({})).mergedBy(order)).toBe(message)
  })

  it('the fork of the head, unless the fork is private', async () => {
    const ofFork = async (fields: object, isGone = false) => {
      names += 1
      const { path, pulls } = await forge.repository(users.bob, `message${names}`)
      const fork = await forge.fork(users.eve, path)
      await forge.change(users.eve, fork.path, 'topic')
      await forge.ask(users.eve, 'POST', pulls, {
        head: 'eve:topic',
        base: 'main',
        title: 'Mend it',
      })
      await forge.ask(users.eve, 'PATCH', fork.path, fields)
      if (isGone) await forge.ask(users.eve, 'DELETE', fork.path)
      const { status } = await merges.merge(users.bob, `${pulls}/1`)
      if (status !== 200) return undefined
      return (await forge.ask(users.bob, 'GET', `${path}/branches/main`)).commit.message.trim()
    }
    expect(await ofFork({})).toBe(
      `Merge pull request 'Mend it' (#1) from eve/message${names}:topic into main`,
    )
    expect(await ofFork({ private: true })).toBe(
      "Merge pull request 'Mend it' (#1) from topic into main",
    )
    expect([
      undefined,
      "Merge pull request 'Mend it' (#1) from <deleted>:topic into main",
    ]).toContain(await ofFork({}, true))
  })
})

describe('a message template of the repository', () => {
  const all = [
    '<BaseRepoOwnerName> <BaseRepoName> <BaseBranch>',
    '<HeadRepoOwnerName> <HeadRepoName> <HeadBranch>',
    '<PullRequestTitle> <PullRequestPosterName> <PullRequestIndex> <PullRequestReference>',
    '<PullRequestDescription>',
    '<ReviewedOn>',
    '<ReviewedBy>',
    '[<ClosingIssues><Nothing>] $BaseBranch',
  ].join('\n')

  it('is filled in with the known values', async () => {
    const { mergedBy, pull, path } = await proposed({
      templates: { 'MERGE_TEMPLATE.md': all },
      title: placed('Mend <BaseBranch>'),
      body: 'With care.',
    })
    await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
    await forge.ask(users.carol, 'POST', `${pull}/reviews`, { event: 'APPROVED', body: '' })
    const name = path.split('/').at(-1)
    expect(await mergedBy({ Do: 'merge' })).toBe(
      [
        `bob ${name} main`,
        '',
        `bob ${name} topic`,
        placed('Mend <BaseBranch> bob 1 #1'),
        'With care.',
        `Reviewed-on: ${server.url}/bob/${name}/pulls/1`,
        `Reviewed-by: carol <${await addressOf(users.carol)}>`,
        '[] $BaseBranch',
      ].join('\n'),
    )
  })

  it.each<[style: string, file: string, message: string]>([
    ['merge', 'MERGE_TEMPLATE.md', 'Title of 1\n\nBody of topic.'],
    ['squash', 'SQUASH_TEMPLATE.md', 'Title of 1\n\nBody of topic.'],
    ['rebase', 'REBASE_TEMPLATE.md', 'Title of 1\n\nBody of topic.'],
    ['rebase-merge', 'REBASE-MERGE_TEMPLATE.md', 'Title of 1\n\nBody of topic.'],
    ['merge', 'SQUASH_TEMPLATE.md', "Merge pull request 'Mend it' (#1) from topic into main"],
  ])('is selected by the style: %s by %s', async (style, file, message) => {
    const templates = { [file]: 'Title of <PullRequestIndex>\r\n\r\nBody of <HeadBranch>.\r\n' }
    expect(await (await proposed({ templates })).mergedBy({ Do: style })).toBe(message)
  })

  it('has no effect if the caller gives a message', async () => {
    const templates = {
      'MERGE_TEMPLATE.md': 'Title\nBody\n',
      'SQUASH_TEMPLATE.md': '\n<Nothing>\n',
    }
    expect(await (await proposed({ templates })).mergedBy({ MergeTitleField: 'Own' })).toBe('Own')
    expect(await (await proposed({ templates })).mergedBy({ MergeMessageField: 'Own' })).toBe(
      'Title\n\nOwn',
    )
    expect(await (await proposed({ templates })).mergedBy({ Do: 'squash' })).toBe('Mend it (#1)')
  })

  it('lists each approver on one line', async () => {
    const user = await forge.ask(users.carol, 'GET', '/user')
    const rename = (display_name: string) =>
      server.app.db.updateTable('users').set({ display_name }).where('id', '=', user.id).execute()
    const { mergedBy, pull, path } = await proposed({
      templates: { 'MERGE_TEMPLATE.md': 'Title\n\n<ReviewedBy>' },
    })
    await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
    await forge.ask(users.carol, 'POST', `${pull}/reviews`, { event: 'APPROVED', body: '' })
    await rename('C. <c@example.org>\nSigned-off-by: Bob')
    expect(await mergedBy({})).toBe(
      `Title\n\nReviewed-by: C. c@example.orgSigned-off-by: Bob <${await addressOf(users.carol)}>`,
    )
    await rename('')
  })

  it('is read up to a maximum length', async () => {
    const templates = { 'MERGE_TEMPLATE.md': `Title\n\n${'x'.repeat(6000)}` }
    expect(await (await proposed({ templates })).mergedBy({})).toBe(
      `Title\n\n${'x'.repeat(5120 - 7)}`,
    )
  })
})

describe('a squash', () => {
  it('credits all authors of its commits beside its author', async () => {
    const authors = [
      'Dora <dora@example.org>',
      'Bob the Builder <BOB@example.org>',
      'carol <carol@example.org>',
      'D. <Dora@example.org>',
    ]
    const { mergedBy, path } = await proposed({ authors })
    expect(await mergedBy({ Do: 'squash' })).toBe(
      'Mend it (#1)\n\nCo-authored-by: Dora <dora@example.org>\nCo-authored-by: carol <carol@example.org>',
    )
    const { commit } = await forge.ask(users.bob, 'GET', `${path}/branches/main`)
    expect([commit.author.username, commit.committer.username]).toEqual(['bob', 'ada'])
    expect(commit.author.email).toBe('BOB@example.org')
  })

  it('keeps the co-authors of its commits, each once', async () => {
    const { mergedBy } = await proposed({
      authors: ['bob <bob@example.org>', 'Dora <dora@example.org>', 'bob <bob@example.org>'],
      trailers: [
        'Co-authored-by: Finn <finn@example.org>\nCo-authored-by: Bob <bob@example.org>\nReviewed-by: Kim <kim@example.org>',
        'Co-Authored-By: F. <FINN@example.org>\nCo-authored-by: nobody',
        'Co-authored-by: D. <dora@example.org>\nCo-authored-by: Gus <gus@example.org>',
      ],
    })
    expect(await mergedBy({ Do: 'squash' })).toBe(
      [
        'Mend it (#1)',
        '',
        'Co-authored-by: Dora <dora@example.org>',
        'Co-authored-by: Finn <finn@example.org>',
        'Co-authored-by: Gus <gus@example.org>',
      ].join('\n'),
    )
  })

  it('credits each author once', async () => {
    const said = 'Co-authored-by: Dora <dora@example.org>'
    const { mergedBy } = await proposed({
      authors: ['Dora <dora@example.org>', 'Finn <finn@example.org>'],
      templates: { 'SQUASH_TEMPLATE.md': `Title\n\n${said}` },
    })
    expect(await mergedBy({ Do: 'squash' })).toBe(
      `Title\n\n${said}\nCo-authored-by: Finn <finn@example.org>`,
    )
  })

  it.each([
    [{ MergeTitleField: 'Mine', MergeMessageField: 'So it is.' }, 'Mine\n\nSo it is.'],
    [{ MergeTitleField: 'Mine' }, 'Mine'],
    [{ MergeMessageField: 'So it is.' }, 'Mend it (#1)\n\nSo it is.'],
  ])('adds nothing to the message of the caller: %j', async (fields, message) => {
    const authors = ['Dora <dora@example.org>', 'Bob <bob@example.org>']
    const { mergedBy } = await proposed({ authors })
    expect(await mergedBy({ Do: 'squash', ...fields })).toBe(message)
  })

  it('reveals no address of the poster that its commits do not contain, unless the poster merges', async () => {
    for (const [who, email] of [
      [users.ada, await addressOf(users.bob)],
      [users.bob, 'bob@example.org'],
    ] as const) {
      const { pull, path } = await proposed({ authors: ['Dora <dora@example.org>'] })
      expect((await merges.merge(who, pull, { Do: 'squash' })).status).toBe(200)
      const { author } = (await forge.ask(users.bob, 'GET', `${path}/branches/main`)).commit
      expect(author).toMatchObject({ name: 'bob', username: 'bob', email })
    }
  })
})
