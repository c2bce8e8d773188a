import { beforeAll, describe, expect, it } from 'vitest'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { type Actor, createToken, PASSWORD, signIn } from '../../support/server.ts'

const forge = await openForge()
const { ada, bob } = forge.users
const { url } = forge.server
const { rest, ask, client } = forge

/** As long as a name may be, with all characters that it may have. */
const NAME = 'Ann-Marie_van.der.Berg--1984_x.y.z.012345'.slice(0, 40)
const ORGANIZATION = 'open_source.co'

describe('a user and an organisation with dots and underscores in their names', () => {
  let ann: Actor

  beforeAll(async () => {
    await ask(ada, 'POST', '/users', { username: NAME, password: PASSWORD })
    ann = await signIn(url, NAME)
    await ask(ann, 'POST', '/orgs', { username: ORGANIZATION })
  })

  it('are found by every path below them, in any case of letters', async () => {
    expect((await ask(bob, 'GET', `/users/${NAME.toLowerCase()}`)).login).toBe(NAME)
    expect((await ask(bob, 'GET', `/users/${NAME}:getStats`)).name).toBe(`users/${NAME}`)
    const { settings } = await ask(ann, 'GET', `/users/${NAME}/settings`)
    expect(settings[0].name).toBe(`users/${NAME}/settings/GENERAL`)
    expect(await ask(ann, 'GET', `/users/${NAME}/settings/GENERAL`)).toEqual(settings[0])
    const { users } = await ask(bob, 'POST', '/users:batchGet', { usernames: [NAME, 'bob'] })
    expect(users.map(({ login }: { login: string }) => login)).toEqual([NAME, 'bob'])
    expect((await ask(bob, 'GET', `/users/search?q=van.der`)).data).toHaveLength(1)
    expect((await ask(bob, 'GET', `/orgs/${ORGANIZATION}`)).name).toBe(ORGANIZATION)
    const token = await createToken(url, ann, ['read:user'])
    const basic = Buffer.from(`${NAME}:${token}`).toString('base64')
    const self = await ask({ authorization: `Basic ${basic}` }, 'GET', '/user')
    expect(self.login).toBe(NAME)
  })

  it('own repositories that Git, forks and pull requests reach', async () => {
    await ask(ann, 'POST', '/user/repos', { name: 'a.b', auto_init: true })
    await ask(ann, 'POST', `/orgs/${ORGANIZATION}/repos`, { name: 'c', auto_init: true })
    await client.git('.', 'clone', '-q', remoteOf(url, `${ORGANIZATION}/c`, NAME, PASSWORD))
    await client.git('.', 'clone', '-q', remoteOf(url, `${NAME}/a.b`, NAME, PASSWORD), 'ab')
    await client.commit('ab', 'more')
    await client.git('ab', 'push', '-q', 'origin', 'HEAD:feature')
    const pull = await ask(ann, 'POST', `/repos/${NAME}/a.b/pulls`, {
      head: `${NAME}:feature`,
      base: 'main',
      title: 'More',
    })
    expect(pull.head.label).toBe('feature')
    await ask(bob, 'POST', `/repos/${NAME}/a.b/forks`)
    const compared = await ask(bob, 'GET', `/repos/${NAME}/a.b/compare/main...${NAME}:feature`)
    expect(compared.total_commits).toBe(1)
    const goImport = await (await fetch(`${url}/${NAME}/a.b?go-get=1`)).text()
    expect(goImport).toContain(`${url}/${NAME}/a.b.git`)
  })

  it('are mentioned with a full stop behind the name', async () => {
    await ask(bob, 'POST', '/memos', {
      content: `I met @${NAME}.`,
      visibility: 'PUBLIC',
    })
    const { notifications } = await ask(ann, 'GET', `/users/${NAME}/notifications`)
    expect(notifications).toMatchObject([{ type: 'MEMO_MENTION', sender: 'users/bob' }])
  })

  it.each(['a..b', '.a', 'a_', 'ada.keys', 'ada.PNG', 'x'.repeat(41)])(
    'cannot be called %s',
    async (name) => {
      const user = await rest(ada, 'POST', '/users', { username: name, password: PASSWORD })
      expect([user.status, user.headers.get('x-error-reason')]).toEqual([400, 'INVALID_USERNAME'])
      const renamed = await rest(ann, 'PATCH', `/users/${NAME}`, { username: name })
      expect(renamed.headers.get('x-error-reason')).toBe('INVALID_USERNAME')
      const organization = await rest(ann, 'POST', '/orgs', { username: name })
      expect(organization.status).toBe(422)
    },
  )
})
