import { beforeEach, expect, it } from 'vitest'
import {
  queueMail,
  sendDueMails,
  startMails,
} from '../../../../src/forge/accounts/credentials/mail-queue.ts'
import type { User } from '../../../../src/forge/core/schema.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import type { Mail, MailTransport } from '../../../../src/platform/mail/mail.ts'
import { addUser, type TestApp, testApp } from '../../../support/app.ts'

const MINUTE_MS = 60_000

let app: TestApp
let bob: User
let sent: Mail[]
let result: Awaited<ReturnType<MailTransport['send']>>
let logged: unknown[][]

beforeEach(async () => {
  sent = []
  logged = []
  result = { kind: 'accepted' }
  app = await testApp(
    {},
    {
      mail: {
        async send(mail) {
          sent.push(mail)
          return result
        },
      },
    },
  )
  for (const level of ['warn', 'error'] as const)
    app.log[level] = (...line: unknown[]) => logged.push(line)
  bob = await addUser(app, 'bob')
})

const mailTo = (subject: string): Mail => ({
  from: 'forge@example.org',
  to: 'bob@example.org',
  subject,
  text: 'Tulips\n',
})

const queue = (subject: string, lifetimeMs = 180 * MINUTE_MS) =>
  transaction(app.db, (tx) => queueMail(app, tx, bob, mailTo(subject), lifetimeMs))

const waiting = () => app.db.selectFrom('mails').selectAll().execute()

it('a mail is sent once, in the order of the queue, and its row holds no readable text', async () => {
  await queue('first')
  await queue('second')
  expect(JSON.stringify(await waiting())).not.toContain('first')
  expect(String((await waiting())[0]?.content)).not.toContain('Tulips')
  await sendDueMails(app)
  await sendDueMails(app)
  expect(sent).toEqual([mailTo('first'), mailTo('second')])
  expect(await waiting()).toEqual([])
})

it('a mail of a transaction that fails is never sent', async () => {
  const failing = transaction(app.db, async (tx) => {
    await queueMail(app, tx, bob, mailTo('lost'), MINUTE_MS)
    throw new Error('the disk is full')
  })
  await expect(failing).rejects.toThrow('the disk is full')
  await sendDueMails(app)
  expect(sent).toEqual([])
})

it('a deferred mail is sent again, later each time, until it is accepted', async () => {
  result = { kind: 'deferred', reason: 'status 450' }
  await queue('late')
  await sendDueMails(app)
  await sendDueMails(app)
  expect(sent).toHaveLength(1)
  app.clock.advance(10)
  await sendDueMails(app)
  expect(sent).toHaveLength(2)
  app.clock.advance(59)
  await sendDueMails(app)
  expect(sent).toHaveLength(2)
  result = { kind: 'accepted' }
  app.clock.advance(1)
  await sendDueMails(app)
  expect(sent).toHaveLength(3)
  expect(await waiting()).toEqual([])
  const facts = { mail: expect.any(Number), user: bob.id, reason: 'status 450' }
  expect(logged).toEqual([
    [facts, 'a mail was deferred'],
    [facts, 'a mail was deferred'],
  ])
})

it('a mail server that does not answer does not hold up a server that stops', async () => {
  let answer: (() => void) | undefined
  const asked = new Promise<void>((resolve) => {
    const send = () =>
      new Promise<typeof result>((accept) => {
        answer = () => accept(result)
        resolve()
      })
    app = { ...app, mail: { send } }
  })
  await queue('unanswered')
  const worker = startMails(app)
  await asked
  await worker.stop()
  expect(await waiting()).toHaveLength(1)
  answer?.()
})

it('a refused mail is given up, and an expired one too', async () => {
  result = { kind: 'refused', reason: 'status 550' }
  await queue('refused')
  await sendDueMails(app)
  await queue('expired', MINUTE_MS)
  app.clock.advance(60)
  await sendDueMails(app)
  expect(sent.map(({ subject }) => subject)).toEqual(['refused'])
  expect(await waiting()).toEqual([])
  expect(logged.map(([, message]) => message)).toEqual([
    'a mail was refused',
    'a mail has expired unsent',
  ])
})
