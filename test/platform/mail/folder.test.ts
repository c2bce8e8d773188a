import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Mail, openMailFolder } from '../../../src/platform/mail/mail.ts'
import { withFolder } from '../../support/process.ts'

const MAIL: Mail = {
  from: 'noreply@git.example.org',
  to: 'bob@example.org',
  subject: 'Hello',
  text: 'Hello\n',
}

/** Sends messages to a new folder and returns the files in it. */
async function send(...messages: Mail[]): Promise<{ name: string; mode: number; text: string }[]> {
  return withFolder(async (parent) => {
    const folder = join(parent, 'mail')
    const mail = await openMailFolder(folder, () => Date.UTC(2026, 4, 1, 10))
    for (const message of messages) await mail.send(message)
    const files = (await readdir(folder)).map(async (name) => {
      const path = join(folder, name)
      return { name, mode: (await stat(path)).mode & 0o777, text: await readFile(path, 'utf8') }
    })
    return Promise.all(files)
  })
}

/** Header fields by name, unfolded (RFC 5322 section 2.2.3), and the lines of the body. */
function parse(message: string): { fields: Map<string, string[]>; body: string[] } {
  const end = message.indexOf('\r\n\r\n')
  const fields = new Map<string, string[]>()
  for (const line of message
    .slice(0, end)
    .replaceAll(/\r\n(?=[ \t])/g, '')
    .split('\r\n')) {
    const [, name = '', value = ''] = /^([\x21-\x39\x3b-\x7e]+): (.*)$/.exec(line) ?? []
    fields.set(name, [...(fields.get(name) ?? []), value])
  }
  return { fields, body: message.slice(end + 4).split('\r\n') }
}

describe('the mail folder', () => {
  it('holds one whole message in each file, for nobody but the operator', async () => {
    const files = await send(MAIL, MAIL)
    expect(files.map(({ mode }) => mode)).toEqual([0o600, 0o600])
    expect(files.map(({ name }) => name)).toEqual([
      expect.stringMatching(/^20260501T100000\.000Z-[\da-f-]{36}\.eml$/),
      expect.stringMatching(/^20260501T100000\.000Z-[\da-f-]{36}\.eml$/),
    ])
  })

  it('has the header fields that a message needs', async () => {
    const [file] = await send(MAIL)
    expect(Object.fromEntries(parse(file?.text ?? '').fields)).toEqual({
      From: ['noreply@git.example.org'],
      To: ['bob@example.org'],
      Subject: ['Hello'],
      Date: ['Fri, 01 May 2026 10:00:00 +0000'],
      'Message-ID': [expect.stringMatching(/^<[\da-f-]{36}@git\.example\.org>$/)],
      'MIME-Version': ['1.0'],
      'Content-Type': ['text/plain; charset=utf-8'],
      'Content-Transfer-Encoding': ['8bit'],
      'Auto-Submitted': ['auto-generated'],
    })
  })

  it('has the fields of a list and a thread, for a mail of these', async () => {
    const [file] = await send({
      ...MAIL,
      list: {
        name: 'bob/engine',
        id: 'engine.bob.git.example.org',
        unsubscribeUrl: `https://git.example.org/-/unsubscribe?token=${'a'.repeat(80)}`,
        messageId: 'pull-1.2.3@git.example.org',
        threadId: 'pull-1@git.example.org',
        headers: { 'X-Gitea-Reason': 'mention' },
      },
    })
    expect(Object.fromEntries(parse(file?.text ?? '').fields)).toMatchObject({
      'List-ID': ['"bob/engine" <engine.bob.git.example.org>'],
      'List-Unsubscribe': [`<https://git.example.org/-/unsubscribe?token=${'a'.repeat(80)}>`],
      'List-Unsubscribe-Post': ['List-Unsubscribe=One-Click'],
      'Message-ID': ['<pull-1.2.3@git.example.org>'],
      'In-Reply-To': ['<pull-1@git.example.org>'],
      References: ['<pull-1@git.example.org>'],
      'X-Gitea-Reason': ['mention'],
    })
  })

  it('leaves the text as it is, however long its lines', async () => {
    const link = `https://git.example.org/${'a'.repeat(200)}?token=abc`
    const [file] = await send({ ...MAIL, text: `Grüße\n\n${link}\n` })
    expect(parse(file?.text ?? '').body).toEqual(['Grüße', '', link, ''])
  })

  it.each([
    ['a line break in the address', { to: 'bob@example.org\r\nBcc: eve@example.org' }],
    ['a second address', { to: 'bob@example.org, eve@example.org' }],
    ['a name that looks like an address', { to: 'eve@example.org <bob@example.org>' }],
    ['a line break in the subject', { subject: 'Hello\r\nBcc: eve@example.org\r\n\r\nBuy' }],
    ['a lone line feed in the subject', { subject: 'Hello\nBcc: eve@example.org' }],
  ])('takes %s for what it is', async (_, hostile) => {
    const [file] = await send({ ...MAIL, ...hostile })
    const { fields, body } = parse(file?.text ?? '')
    expect([...fields.keys()].sort()).toEqual([
      'Auto-Submitted',
      'Content-Transfer-Encoding',
      'Content-Type',
      'Date',
      'From',
      'MIME-Version',
      'Message-ID',
      'Subject',
      'To',
    ])
    // Outside of quoted strings and comments, an address list has a comma for each further address.
    expect(fields.get('To')?.[0]?.replaceAll(/"(?:[^"\\]|\\.)*"/g, '')).not.toContain(',')
    expect(body).toEqual(['Hello', ''])
  })
})
