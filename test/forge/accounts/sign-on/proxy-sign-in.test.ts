import { beforeEach, describe, expect, it } from 'vitest'
import { signInByPassword } from '../../../../src/forge/accounts/credentials/credentials.ts'
import {
  type ProxyIdentity,
  userOfProxy,
} from '../../../../src/forge/accounts/sign-on/sso-sign-in.ts'
import { addUser, LOCAL_PEER, type TestApp, testApp } from '../../../support/app.ts'

const BAD_CREDENTIALS = expect.objectContaining({ reason: 'BAD_CREDENTIALS' })

let app: TestApp

beforeEach(async () => {
  app = await testApp({ registration: 'closed' })
})

function find(
  username: string,
  { register = false, ...profile }: Partial<ProxyIdentity> & { register?: boolean } = {},
) {
  return userOfProxy(app, { username, email: '', displayName: '', ...profile }, register)
}

describe('the account that a proxy names', () => {
  it('is found by its username in any case', async () => {
    const ada = await addUser(app, 'Ada')
    for (const username of ['Ada', 'ada', 'ADA'])
      await expect(find(username)).resolves.toMatchObject({ id: ada.id })
  })

  it.each([
    ['unknown', false],
    ['archived', false],
    // Registration does not affect existing accounts.
    ['archived', true],
    ['chosen-id', false],
    ['chosen-id', true],
  ])('is not "%s" (registering: %s)', async (username, register) => {
    await addUser(app, 'archived', { state: 'ARCHIVED' })
    await addUser(app, 'chosen', { user_id: 'chosen-id' })
    await expect(find(username, { register })).rejects.toEqual(BAD_CREDENTIALS)
  })

  it('is created as a user if it is unknown, even if registration is closed', async () => {
    await addUser(app, 'ada')
    const made = await find('Bob', {
      register: true,
      email: 'bob@example.org',
      displayName: 'Bob B.',
    })
    expect(made).toMatchObject({
      username: 'Bob',
      email: 'bob@example.org',
      display_name: 'Bob B.',
      role: 'USER',
      state: 'NORMAL',
    })
    await expect(find('bob', { register: true, displayName: 'Robert' })).resolves.toEqual(made)
  })

  it('is an administrator if it is the first one, and only one is, even for concurrent requests', async () => {
    const names = ['ada', 'bob', 'carol', 'Ada', 'ADA']
    const made = await Promise.all(names.map((name) => find(name, { register: true })))
    const [ada, bob, carol, ...again] = made
    expect(again).toEqual([ada, ada])
    expect(new Set([ada, bob, carol].map((user) => user?.id)).size).toBe(3)
    // Any of the three may be the first one.
    const roles = [ada, bob, carol].map((user) => user?.role)
    expect(roles.toSorted()).toEqual(['ADMIN', 'USER', 'USER'])
  })

  it.each(['', 'me', 'bob@example.org', 'bob b', '-bob', 'x'.repeat(41), 'bob/..'])(
    'is not created under the name "%s"',
    async (username) => {
      await expect(find(username, { register: true })).rejects.toEqual(BAD_CREDENTIALS)
    },
  )

  it.each([
    ['taken', 'ADA@example.org'],
    ['no address', 'bob'],
    ['a list', 'bob@example.org, eve@example.org'],
  ])('is created without an address that is %s', async (_, email) => {
    await addUser(app, 'ada', { email: 'ada@example.org', email_key: 'ada@example.org' })
    await expect(find('bob', { register: true, email })).resolves.toMatchObject({
      email: '',
      email_key: '',
    })
  })

  it('has at most 128 characters of the display name', async () => {
    const { display_name } = await find('bob', { register: true, displayName: '🐎'.repeat(200) })
    expect(display_name).toBe('🐎'.repeat(128))
  })

  it('has no password', async () => {
    await find('bob', { register: true })
    const factor = { passcode: '', recoveryCode: '' }
    for (const password of ['', 'password']) {
      const signIn = signInByPassword(app, LOCAL_PEER, { username: 'bob', password }, factor, '')
      await expect(signIn).rejects.toEqual(BAD_CREDENTIALS)
    }
  })
})
