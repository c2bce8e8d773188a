import { createClient } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import { OrganizationService } from '#gen/branchline/v1/organization_service_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import {
  MAX_LISTED_MEMOS,
  MAX_LISTED_TAGS,
} from '../../../src/forge/memos/activity/user-stats.rows.ts'
import { openForge, startForge } from '../../support/forge.ts'
import { storeMemo } from '../../support/memo-rows.ts'
import { type Actor, RPC_PROTOCOLS, transportTo } from '../../support/server.ts'

const forge = await openForge()
const { ada, bob } = forge.users

const usersOf = (who: Actor, protocol: (typeof RPC_PROTOCOLS)[number] = 'gRPC') =>
  createClient(UserService, transportTo(forge.server.url, protocol, who.authorization))

/** Sends JSON, over REST or as a Connect call. */
async function send(who: Actor, method: string, path: string, body?: object) {
  const answer = await fetch(forge.server.url + path, {
    method,
    headers: { authorization: who.authorization, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, text, body: text === '' ? undefined : JSON.parse(text) }
}

describe('a mask with empty paths', () => {
  it.each([
    'displayName,,createTime',
    ',display_name',
    'displayName,',
    ' displayName , , createTime',
  ])('ignores the empty ones: "%s"', async (mask) => {
    const rest = `/api/v1/users/bob?updateMask=${encodeURIComponent(mask)}`
    const values = { displayName: mask, email: 'not-named@example.org' }
    const kept = { displayName: mask, email: 'bob@example.org' }
    expect(await send(bob, 'PATCH', rest, values)).toMatchObject({ status: 200, body: kept })
    const user = { name: 'users/bob', ...values }
    const rpc = { user, updateMask: mask }
    const answer = await send(bob, 'POST', '/branchline.v1.UserService/UpdateUser', rpc)
    expect(answer).toMatchObject({ status: 200, body: kept })
    for (const protocol of RPC_PROTOCOLS) {
      const updateMask = { paths: mask.split(',') }
      expect(await usersOf(bob, protocol).updateUser({ user, updateMask })).toMatchObject(kept)
    }
  })

  it('is empty if all of them are', async () => {
    const { status, text } = await send(bob, 'PATCH', '/api/v1/users/bob?updateMask=,', {
      displayName: 'x',
    })
    expect([status, text]).toEqual([400, expect.stringContaining('EMPTY_MASK')])
  })

  it('may also be a read mask', async () => {
    const { body } = await send(bob, 'GET', '/api/v1/users/bob?readMask=username,,email')
    expect(body).toMatchObject({ username: 'bob', email: 'bob@example.org', displayName: '' })
  })
})

describe('invisible characters', () => {
  const UNSEEN = [
    '\u0000',
    '\u0007',
    '\u007f',
    '\u0085',
    '\u200b',
    '\u200d',
    '\u2028',
    '\u202e',
    '\u2060',
    '\u00ad',
    '\u{e0041}',
  ]

  it.each(UNSEEN.map((character) => [character.codePointAt(0)?.toString(16), character]))(
    'such as U+%s are refused in addresses and URLs',
    async (_code, c) => {
      const { engine, acme } = await place()
      const requests: [string, Promise<{ status: number; text: string }>, number][] = [
        [
          'e-mail',
          send(bob, 'PATCH', '/api/v1/users/bob?updateMask=email', {
            email: `bo${c}b@example.org`,
          }),
          400,
        ],
        [
          'picture',
          send(bob, 'PATCH', '/api/v1/users/bob?updateMask=avatarUrl', {
            avatarUrl: `https://example.org/a${c}.png`,
          }),
          400,
        ],
        [
          'webhook',
          send(bob, 'POST', '/api/v1/users/bob/webhooks', { url: `https://example.org/ho${c}ok` }),
          400,
        ],
        [
          'website',
          send(bob, 'PATCH', `/api/v1${engine}`, { website: `https://example.org/${c}x` }),
          422,
        ],
        [
          'organization',
          send(bob, 'PATCH', `/api/v1${acme}`, { website: `https://example.org/${c}x` }),
          422,
        ],
        [
          'its e-mail',
          send(bob, 'PATCH', `/api/v1${acme}`, { email: `ac${c}me@example.org` }),
          422,
        ],
        [
          'mirror',
          send(bob, 'POST', '/api/v1/repos/migrate', {
            clone_addr: `https://example.org/a${c}/b.git`,
            repo_name: 'copied',
          }),
          422,
        ],
        [
          'author',
          send(bob, 'POST', `/api/v1${engine}/contents/by.txt`, {
            content: '',
            author: { name: 'x', email: `x${c}@example.org` },
          }),
          422,
        ],
        [
          'new user',
          send(ada, 'POST', '/api/v1/admin/users', {
            username: 'zoe',
            email: `z${c}@example.org`,
            password: 'long enough',
          }),
          422,
        ],
        [
          'identity provider',
          send(ada, 'POST', '/api/v1/identity-providers', {
            title: 'x',
            type: 'OAUTH2',
            config: {
              oauth2Config: {
                clientId: 'x',
                authUrl: `https://example.org/${c}a`,
                tokenUrl: 'https://example.org/t',
                userInfoUrl: 'https://example.org/u',
                fieldMapping: { identifier: 'sub' },
              },
            },
          }),
          400,
        ],
      ]
      const found: [string, number][] = []
      for (const [what, request] of requests) found.push([what, (await request).status])
      expect(found).toEqual(requests.map(([what, , status]) => [what, status]))
      expect(forge.server.logged.filter(({ level }) => level === 'error')).toEqual([])
    },
  )

  it('are refused in RPCs in the same way', async () => {
    for (const protocol of RPC_PROTOCOLS) {
      const update = {
        user: { name: 'users/bob', email: 'b\u200bob@example.org' },
        updateMask: { paths: ['email'] },
      }
      await expect(usersOf(bob, protocol).updateUser(update)).rejects.toMatchObject({ code: 3 })
      const { acme } = await place()
      const organizations = createClient(
        OrganizationService,
        transportTo(forge.server.url, protocol, bob.authorization),
      )
      const edit = { org: acme.slice('/orgs/'.length), website: 'https://example.org/\u200b' }
      await expect(organizations.editOrganization(edit)).rejects.toMatchObject({ code: 3 })
    }
  })

  let made: Promise<{ engine: string; acme: string }> | undefined
  /** Creates a repository and an organisation of bob. */
  function place() {
    made ??= (async () => {
      await forge.ask(bob, 'POST', '/user/repos', { name: 'engine', auto_init: true })
      await forge.ask(bob, 'POST', '/orgs', { username: 'acme' })
      return { engine: '/repos/bob/engine', acme: '/orgs/acme' }
    })()
    return made
  }
})

describe('a private address', () => {
  const setting = '/api/v1/users/bob/settings/GENERAL'

  it('is in none of the commits that the server creates, which still belong to the account', async () => {
    const { status, body } = await send(bob, 'PATCH', `${setting}?updateMask=keepEmailPrivate`, {
      generalSetting: { keepEmailPrivate: true },
    })
    expect([status, body.generalSetting.keepEmailPrivate]).toEqual([200, true])
    const { id } = await forge.ask(bob, 'GET', '/user')
    const repo = '/repos/bob/quiet'
    await forge.ask(bob, 'POST', '/user/repos', { name: 'quiet', auto_init: true })
    for (const style of ['merge', 'squash', 'rebase-merge']) {
      const content = Buffer.from(style).toString('base64')
      const file = { content, branch: 'main', new_branch: style }
      await forge.ask(bob, 'POST', `${repo}/contents/${style}.txt`, file)
      // On a base that has moved, so that a merge is necessary.
      await forge.ask(bob, 'POST', `${repo}/contents/beside-${style}.txt`, { content })
      const pull = { title: style, head: style, base: 'main' }
      const { number } = await forge.ask(bob, 'POST', `${repo}/pulls`, pull)
      await forge.ask(bob, 'POST', `${repo}/pulls/${number}/merge`, { Do: style })
    }
    await forge.ask(bob, 'POST', `${repo}/tags`, { tag_name: 'v1', message: 'first' })
    const commits = await forge.ask(bob, 'GET', `${repo}/commits`)
    expect(commits.length).toBeGreaterThan(8)
    expect(JSON.stringify(commits.map(({ commit }: { commit: object }) => commit))).not.toContain(
      'bob@example.org',
    )
    for (const { commit, author, committer } of commits) {
      expect([commit.author.email, author.login, committer.login]).toEqual([
        `${id}+bob@noreply.127.0.0.1`,
        'bob',
        'bob',
      ])
    }
    const tag = await forge.ask(bob, 'GET', `${repo}/tags/v1`)
    expect(JSON.stringify(tag)).not.toContain('bob@example.org')
  })

  it('is not revealed by squashing commits that the account pushed', async () => {
    const repo = '/repos/carol/quiet'
    await forge.ask(forge.users.carol, 'POST', '/user/repos', { name: 'quiet', auto_init: true })
    await forge.ask(forge.users.carol, 'PUT', `${repo}/collaborators/bob`, { permission: 'write' })
    for (const [file, who] of [
      ['a', bob],
      ['b', forge.users.carol],
    ] as const) {
      const named = { name: who.username, email: `${who.username}@example.org` }
      const branch = file === 'a' ? { branch: 'main', new_branch: 'topic' } : { branch: 'topic' }
      await forge.ask(who, 'POST', `${repo}/contents/${file}.txt`, {
        content: '',
        author: named,
        committer: named,
        ...branch,
      })
    }
    const { number } = await forge.ask(forge.users.carol, 'POST', `${repo}/pulls`, {
      title: 'x',
      head: 'topic',
      base: 'main',
    })
    await forge.ask(forge.users.carol, 'POST', `${repo}/pulls/${number}/merge`, { Do: 'squash' })
    const [squashed] = await forge.ask(bob, 'GET', `${repo}/commits`)
    expect(squashed.commit.message).toMatch(/Co-authored-by: bob <\d+\+bob@noreply\.127\.0\.0\.1>/)
    expect(JSON.stringify(squashed.commit)).not.toContain('bob@example.org')
  })

  it('stays private when a client that does not know the setting writes all settings', async () => {
    for (const mask of ['*', 'general_setting']) {
      const { body } = await send(bob, 'PATCH', `${setting}?updateMask=${mask}`, {
        generalSetting: { locale: 'fr' },
      })
      expect(body.generalSetting).toMatchObject({ locale: 'fr', keepEmailPrivate: true })
    }
    const paths = ['general_setting.keep_email_private']
    for (const protocol of RPC_PROTOCOLS) {
      const users = usersOf(bob, protocol)
      const name = 'users/bob/settings/GENERAL'
      const written = async (keepEmailPrivate: boolean) =>
        (
          await users.updateUserSetting({
            setting: { name, value: { case: 'generalSetting', value: { keepEmailPrivate } } },
            updateMask: { paths },
          })
        ).value.value
      expect(await written(true)).toMatchObject({ keepEmailPrivate: true })
      expect(await written(false)).not.toHaveProperty('keepEmailPrivate', true)
    }
    expect((await send(bob, 'GET', setting)).body.generalSetting).not.toHaveProperty(
      'keepEmailPrivate',
    )
  })
})

describe('statistics', () => {
  it('say when they are incomplete', async () => {
    const { app } = forge.server
    const [carol] = await app.db
      .selectFrom('users')
      .selectAll()
      .where('username', '=', 'carol')
      .execute()
    const [dan] = await app.db
      .selectFrom('users')
      .selectAll()
      .where('username', '=', 'dan')
      .execute()
    if (!carol || !dan) throw new Error('the users is not there')
    for (let i = 0; i < MAX_LISTED_MEMOS; i += 1) await storeMemo(app, carol)
    const memo = await storeMemo(app, dan)
    const tags = Array.from({ length: MAX_LISTED_TAGS }, (_, i) => ({
      memo_id: memo.memo.id,
      position: i,
      tag: `t${i}`,
    }))
    for (let i = 0; i < tags.length; i += 1000)
      await app.db
        .insertInto('memo_tags')
        .values(tags.slice(i, i + 1000))
        .execute()

    const truncated = async () => {
      const one = ['carol', 'dan'].map(
        async (name) => (await send(bob, 'GET', `/api/v1/users/${name}:getStats`)).body.truncated,
      )
      const { stats } = await usersOf(bob).listAllUserStats({})
      return [...(await Promise.all(one)), stats.map(({ name, truncated: cut }) => [name, cut])]
    }
    expect(await truncated()).toEqual([
      undefined,
      undefined,
      [
        ['users/carol', undefined],
        ['users/dan', undefined],
      ],
    ])
    await storeMemo(app, carol)
    await app.db
      .insertInto('memo_tags')
      .values({ memo_id: memo.memo.id, position: MAX_LISTED_TAGS, tag: 'x' })
      .execute()
    expect(await truncated()).toEqual([
      true,
      true,
      [
        ['users/carol', true],
        ['users/dan', true],
      ],
    ])
  })
})

describe('page sizes', () => {
  it('can be configured by the operator for every list', async () => {
    const sized = await startForge({ settings: { defaultPageSize: 2, maxPageSize: 3 } })
    try {
      const { users: testUsers, ask } = sized
      for (const name of ['a', 'b', 'c', 'd'])
        await ask(testUsers.bob, 'POST', '/user/repos', { name })
      const repos = async (query: string) =>
        (await ask(testUsers.bob, 'GET', `/user/repos${query}`)).length
      expect([await repos(''), await repos('?limit=3'), await repos('?limit=50')]).toEqual([
        2, 3, 3,
      ])
      const users = sized.grpc(UserService, testUsers.ada)
      const listed = async (pageSize: number) =>
        (await users.listUsers({ pageSize, showDeleted: true })).users.length
      expect([await listed(0), await listed(3), await listed(1000)]).toEqual([2, 3, 3])
    } finally {
      await sized.stop()
    }
  })
})
