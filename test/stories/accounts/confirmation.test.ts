import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient, type Transport } from '@connectrpc/connect'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { GpgKeyService } from '#gen/branchline/v1/gpg_key_service_pb.ts'
import { PublicKeyService } from '#gen/branchline/v1/public_key_service_pb.ts'
import { TwoFactorService } from '#gen/branchline/v1/two_factor_service_pb.ts'
import { UserEmailService } from '#gen/branchline/v1/user_email_service_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { openForge, refusalOf } from '../../support/forge.ts'
import { passcodeAt } from '../../support/passcodes.ts'
import { type Actor, PASSWORD, RPC_PROTOCOLS, signIn, transportTo } from '../../support/server.ts'
import { newSshSigner } from '../../support/ssh-signing.ts'

const mailDir = await mkdtemp(join(tmpdir(), 'branchline-mails-'))
afterAll(() => rm(mailDir, { recursive: true }))
const { server, users, rest } = await openForge({ mailDir })
const NAME = 'users/bob'
const REASON = 'CONFIRMATION_REQUIRED'

/** What gives lasting access to an account, with the present password or without. */
const CHANGES: Readonly<
  Record<string, (to: Transport, currentPassword?: string) => Promise<unknown>>
> = {
  'a new password': (to, currentPassword = '') =>
    createClient(UserService, to).updateUser({
      user: { name: NAME, password: 'another horse battery', currentPassword },
      updateMask: { paths: ['password'] },
    }),
  'another e-mail address': (to, currentPassword = '') =>
    createClient(UserService, to).updateUser({
      user: { name: NAME, email: `${crypto.randomUUID()}@example.org`, currentPassword },
      updateMask: { paths: ['email'] },
    }),
  'an additional address': (to, currentPassword = '') =>
    createClient(UserEmailService, to).addUserEmails({
      emails: [`${crypto.randomUUID()}@example.org`],
      currentPassword,
    }),
  'a token of all scopes': (to, currentPassword = '') =>
    createClient(UserService, to).createPersonalAccessToken({ parent: NAME, currentPassword }),
  'a token that may change the account': (to, currentPassword = '') =>
    createClient(UserService, to).createPersonalAccessToken({
      parent: NAME,
      scopes: ['write:user'],
      currentPassword,
    }),
  'an SSH key': async (to, currentPassword = '') =>
    createClient(PublicKeyService, to).createPublicKey({
      title: crypto.randomUUID(),
      key: newSshSigner('ssh-ed25519').line,
      currentPassword,
    }),
}

let bob: Actor
beforeEach(async () => {
  bob = await signIn(server.url, 'bob')
  await age()
})

/** Makes all sessions old. */
async function age(): Promise<void> {
  await server.app.db.updateTable('sessions').set({ create_time: 0, confirm_time: 0 }).execute()
}

describe.each(RPC_PROTOCOLS)('a session that is found open, by %s', (protocol) => {
  const transport = () => transportTo(server.url, protocol, bob.authorization)

  it.each(Object.entries(CHANGES))('gets %s by a proof only', async (what, change) => {
    expect((await refusalOf(change(transport()))).reason).toBe(REASON)
    expect((await refusalOf(change(transport(), 'a wrong password'))).reason).toBe(
      'BAD_CREDENTIALS',
    )
    await change(transport(), PASSWORD)
    if (what === 'a new password') await resetPassword()
  })

  it('gets the password changed and the account deleted after a confirmation', async () => {
    const asBob = createClient(UserService, transport())
    expect((await refusalOf(asBob.deleteUser({ name: NAME }))).reason).toBe(REASON)
    expect((await refusalOf(changed(transport()))).reason).toBe(REASON)
    await createClient(AuthService, transport()).confirmSession({ password: PASSWORD })
    await changed(transport())
    await resetPassword()
  })
})

const changed = (to: Transport) => CHANGES['a new password']?.(to) ?? expect.fail('no such change')

/** Gives bob the usual password again. */
async function resetPassword(): Promise<void> {
  const ada = await signIn(server.url, 'ada')
  const answer = await rest(ada, 'PATCH', `/${NAME}`, { password: PASSWORD })
  expect(answer.status).toBe(200)
}

describe('a proof that the owner is present', () => {
  it('is asked for over REST', async () => {
    const password = 'another horse battery'
    const refused = await rest(bob, 'PATCH', `/${NAME}`, { password })
    expect([refused.status, refused.body.details[0].reason]).toEqual([403, REASON])
    const body = { password, currentPassword: PASSWORD }
    const made = await rest(bob, 'PATCH', `/${NAME}`, body)
    expect([made.status, made.body.currentPassword]).toEqual([200, undefined])
    await resetPassword()
    const key = { title: 'laptop', key: newSshSigner('ssh-ed25519').line }
    const again = await signIn(server.url, 'bob')
    await age()
    expect((await rest(again, 'POST', '/user/keys', key)).status).toBe(403)
    const withProof = { ...key, current_password: PASSWORD }
    expect((await rest(again, 'POST', '/user/keys', withProof)).status).toBe(201)
  })

  it('is a second factor too, each code once', async () => {
    const to = transportTo(server.url, 'gRPC', bob.authorization)
    const factor = createClient(TwoFactorService, to)
    const name = `${NAME}/twoFactor`
    const { secret } = await factor.enrollTwoFactor({ name, password: PASSWORD })
    const { recoveryCodes } = await factor.confirmTwoFactor({
      name,
      passcode: passcodeAt(secret, server.app.clock),
    })
    const auth = createClient(AuthService, to)
    const [recoveryCode = ''] = recoveryCodes
    expect((await refusalOf(changed(to))).reason).toBe(REASON)
    await auth.confirmSession({ recoveryCode })
    expect((await refusalOf(auth.confirmSession({ recoveryCode }))).reason).toBe(
      'TWO_FACTOR_INVALID',
    )
    await changed(to)
    const ada = createClient(
      TwoFactorService,
      transportTo(server.url, 'gRPC', (await signIn(server.url, 'ada')).authorization),
    )
    await ada.disableTwoFactor({ name })
    await resetPassword()
  })

  it('is a recent sign-in too, but not for the password', async () => {
    const fresh = transportTo(server.url, 'gRPC', (await signIn(server.url, 'bob')).authorization)
    for (const [what, change] of Object.entries(CHANGES)) {
      if (what !== 'a new password') await change(fresh)
    }
    expect((await refusalOf(changed(fresh))).reason).toBe(REASON)
  })

  it('is not asked for where the request proves the password or a scope limits the token', async () => {
    const basic = `Basic ${Buffer.from(`bob:${PASSWORD}`).toString('base64')}`
    const key = { title: 'by password', key: newSshSigner('ssh-ed25519').line }
    expect((await rest({ authorization: basic }, 'POST', '/user/keys', key)).status).toBe(201)
    const client = createClient(UserService, transportTo(server.url, 'gRPC', bob.authorization))
    const { token } = await client.createPersonalAccessToken({
      parent: NAME,
      scopes: ['write:repository'],
    })
    expect(token).not.toBe('')
  })

  it('is asked of an administrator who changes another account', async () => {
    const old = transportTo(server.url, 'gRPC', users.ada.authorization)
    expect((await refusalOf(changed(old))).reason).toBe(REASON)
  })

  it('must be given, and fits the account', async () => {
    const auth = createClient(AuthService, transportTo(server.url, 'gRPC', bob.authorization))
    expect((await refusalOf(auth.confirmSession({}))).reason).toBe('INVALID_FIELD')
    expect((await refusalOf(auth.confirmSession({ passcode: '123456' }))).reason).toBe(
      'TWO_FACTOR_NOT_ENABLED',
    )
    expect((await refusalOf(auth.confirmSession({ password: 'wrong' }))).reason).toBe(
      'BAD_CREDENTIALS',
    )
  })

  it('is asked for before a GPG key is read', async () => {
    const client = createClient(GpgKeyService, transportTo(server.url, 'gRPC', bob.authorization))
    const draft = { armoredPublicKey: 'no key' }
    expect((await refusalOf(client.createGpgKey(draft))).reason).toBe(REASON)
    const proven = { ...draft, currentPassword: PASSWORD }
    expect((await refusalOf(client.createGpgKey(proven))).reason).toBe('INVALID_GPG_KEY')
  })
})
