import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { afterEach, describe, expect, it } from 'vitest'
import { openMailServer } from '../../../src/platform/mail/smtp.ts'
import { withFolder } from '../../support/process.ts'

const NOW = Date.UTC(2026, 4, 1, 10)

const MESSAGE = {
  from: 'forge@example.org',
  to: 'bob@example.org',
  subject: 'Set a new password',
  text: 'Open this link:\n\nhttp://git.example.org/reset-password?token=tulip\n.\nBye\n',
}

const servers: SMTPServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise<void>((done) => server.close(done))
})

/** Starts a mail server that speaks no TLS, and returns its address and what arrives. */
async function mailServer(options: SMTPServerOptions = {}) {
  const received: { from: string; to: string[]; text: string }[] = []
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS', ...(options.onAuth ? [] : ['AUTH'])],
    allowInsecureAuth: true,
    logger: false,
    async onData(stream, { envelope }, done) {
      const from = envelope.mailFrom ? envelope.mailFrom.address : ''
      const to = envelope.rcptTo.map(({ address }) => address)
      received.push({ from, to, text: await text(stream) })
      done()
    },
    ...options,
  })
  servers.push(server)
  server.on('error', () => {})
  const listener = server.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo
  return { address: { host: '127.0.0.1', port, tls: 'none' } as const, received }
}

const refuse = (responseCode: number) =>
  Object.assign(new Error('no <bob@example.org> here'), { responseCode })

describe('a mail server', () => {
  it('gets the message as it is, to one receiver', async () => {
    const { address, received } = await mailServer()
    expect(await openMailServer(address, () => NOW).send(MESSAGE)).toEqual({ kind: 'accepted' })
    expect(received).toEqual([
      {
        from: MESSAGE.from,
        to: [MESSAGE.to],
        text: expect.stringContaining('token=tulip\r\n.\r\nBye'),
      },
    ])
    expect(received[0]?.text).toMatch(/^From: forge@example\.org\r\nTo: bob@example\.org\r\n/)
    expect(received[0]?.text).toContain('Date: Fri, 01 May 2026 10:00:00 +0000')
  })

  it('is signed in to with the password in the file, which may change', () =>
    withFolder(async (folder) => {
      const passwordFile = join(folder, 'password')
      const { address, received } = await mailServer({
        onAuth: ({ username, password }, _session, done) =>
          username === 'forge' && password === 'tulip'
            ? done(null, { user: 'forge' })
            : done(new Error('wrong')),
      })
      const client = openMailServer({ ...address, user: 'forge', passwordFile }, () => NOW)
      await writeFile(passwordFile, 'rose\n')
      expect(await client.send(MESSAGE)).toEqual({ kind: 'deferred', reason: 'status 535' })
      await writeFile(passwordFile, 'tulip\n')
      expect(await client.send(MESSAGE)).toEqual({ kind: 'accepted' })
      expect(received).toHaveLength(1)
    }))

  it.each([
    ['refuses the receiver', { onRcptTo: (_a, _s, done) => done(refuse(550)) }, 'refused', 550],
    ['defers the receiver', { onRcptTo: (_a, _s, done) => done(refuse(450)) }, 'deferred', 450],
    ['refuses the sender', { onMailFrom: (_a, _s, done) => done(refuse(553)) }, 'refused', 553],
    ['turns the client away', { onConnect: (_s, done) => done(refuse(554)) }, 'deferred', 554],
  ] as const satisfies readonly (readonly [string, SMTPServerOptions, string, number])[])(
    'that %s',
    async (_, options, kind, status) => {
      const { address } = await mailServer(options)
      const result = await openMailServer(address, () => NOW).send(MESSAGE)
      // The texts of servers have addresses.
      expect(result).toEqual({ kind, reason: `status ${status}` })
    },
  )

  it('that offers no TLS gets nothing from a client that requires TLS', async () => {
    const { address, received } = await mailServer()
    const client = openMailServer({ ...address, tls: 'starttls' }, () => NOW)
    expect(await client.send(MESSAGE)).toMatchObject({ kind: 'deferred' })
    expect(received).toEqual([])
  })

  it('that nobody trusts gets nothing', async () => {
    const { address, received } = await mailServer({ disabledCommands: ['AUTH'] })
    const client = openMailServer({ ...address, tls: 'starttls' }, () => NOW)
    expect(await client.send(MESSAGE)).toMatchObject({ kind: 'deferred' })
    expect(received).toEqual([])
  })

  it('that is away gets the message later', async () => {
    const { address } = await mailServer()
    await new Promise<void>((done) => servers.splice(0)[0]?.close(done))
    expect(await openMailServer(address, () => NOW).send(MESSAGE)).toEqual({
      kind: 'deferred',
      reason: 'ESOCKET',
    })
  })
})
