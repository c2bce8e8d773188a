import { describe, expect, it } from 'vitest'
import { parseAvatar } from '../../../../src/forge/accounts/users/avatars.ts'
import {
  checkProfile,
  checkUserId,
  checkUsername,
} from '../../../../src/forge/accounts/users/user-fields.ts'

describe('usernames', () => {
  it.each(['a', '1', 'Ada', 'a-b', 'a--b', 'a.b', 'a_b', 'A.-_b', '42', 'x'.repeat(40)])(
    'may be %s',
    (username) => {
      expect(checkUsername(username)).toBe(username)
    },
  )

  it.each([
    '',
    '-',
    '-a',
    'a-',
    'a b',
    ' a',
    'a..b',
    '.a',
    'a.',
    '_a',
    'a_',
    'ä',
    'aä.b',
    'a\n',
    'ME',
    'x'.repeat(41),
    'a/b',
    '..',
  ])('may not be %j', (username) => {
    expect(() => checkUsername(username)).toThrow('INVALID_USERNAME')
  })

  // Addresses of an account's keys, feeds and pictures, and endings of repositories.
  it.each(['git', 'wiki', 'lock', 'keys', 'gpg', 'rss', 'atom', 'png', 'PNG'])(
    'may not end in .%s',
    (ending) => {
      expect(() => checkUsername(`ada.${ending}`)).toThrow('INVALID_USERNAME')
      expect(checkUsername(`ada-${ending}`)).toBe(`ada-${ending}`)
      expect(checkUsername(`ada.${ending}s`)).toBe(`ada.${ending}s`)
    },
  )

  it.each(['openapi.json', 'schema', 'robots.txt', 'branchline.v1.UserService', 'grpc.health.v1'])(
    'may not be the top-level path %s',
    (username) => {
      expect(() => checkUsername(username)).toThrow('INVALID_USERNAME')
    },
  )

  // These names are top-level paths of the API and of the web pages, the path `GET /users/search`,
  // and the name of deleted accounts.
  it.each([
    'admin',
    'api',
    'Attachments',
    'Explore',
    'file',
    'healthz',
    'login',
    'metrics',
    'readyz',
    'search',
    'settings',
    'user',
    'Ghost',
  ])('may not be %s', (username) => {
    expect(() => checkUsername(username)).toThrow('INVALID_USERNAME')
  })
})

describe('custom ids', () => {
  it.each(['a', '0', 'a-1', '-a'])('may be %s', (id) => {
    expect(checkUserId(id)).toBe(id)
  })

  it.each(['A', 'a_b', 'a.b', 'me', '-', 'a'.repeat(37), 'a\n'])('may not be %j', (id) => {
    expect(() => checkUserId(id)).toThrow('INVALID_USER_ID')
  })
})

describe('profiles', () => {
  it.each(['ada@example.org', 'a+b@x.y', 'ada@localhost', 'ünï@example.org'])(
    'may have the address %s',
    (email) => {
      expect(checkProfile({ email })).toEqual({ email, email_key: email.toLowerCase() })
    },
  )

  it.each([
    'ada',
    '@',
    'a@',
    '@b',
    'a@b@c',
    'a b@c',
    'a@-b',
    'a@b.',
    'a@b\nBcc: x@y',
    `${'a'.repeat(250)}@b.cd`,
  ])('may not have the address %j', (email) => {
    expect(() => checkProfile({ email })).toThrow('INVALID_EMAIL')
  })

  it('may have no address', () => {
    expect(checkProfile({ email: '' })).toEqual({ email: '', email_key: '' })
  })

  it('count characters, not code units', () => {
    expect(checkProfile({ display_name: '🦊'.repeat(128) })).toEqual({
      display_name: '🦊'.repeat(128),
    })
    expect(() => checkProfile({ display_name: '🦊'.repeat(129) })).toThrow('INVALID_FIELD')
    expect(() => checkProfile({ description: 'x'.repeat(1025) })).toThrow('INVALID_FIELD')
  })
})

describe('avatars', () => {
  const dataUri = (type: string, bytes: Buffer) => `data:${type};base64,${bytes.toString('base64')}`
  const png = Buffer.from('89504e470d0a1a0a00', 'hex')

  it.each([
    ['image/png', png],
    ['image/jpeg', Buffer.from('ffd8ffe0', 'hex')],
    ['image/gif', Buffer.from('GIF89a')],
    ['image/webp', Buffer.from('RIFF\0\0\0\0WEBPVP8 ')],
  ])('of type %s are recognised by their first bytes', (contentType, data) => {
    expect(parseAvatar(dataUri(contentType, data))).toEqual({ contentType, data })
  })

  it('may be jpg for jpeg, and links', () => {
    expect(parseAvatar(dataUri('image/jpg', Buffer.from('ffd8ff', 'hex')))).toMatchObject({
      contentType: 'image/jpeg',
    })
    expect(parseAvatar('https://example.org/a.png?size=2')).toBe('https://example.org/a.png?size=2')
    expect(parseAvatar('')).toBe('')
  })

  it.each([
    ['http://example.org/a.png', 'no https'],
    ['https://', 'no link'],
    [`https://example.org/${'a'.repeat(2048)}`, 'too long a link'],
    ['javascript:alert(1)', 'a script'],
    [
      dataUri('image/svg+xml', Buffer.from('<svg onload="alert(1)"/>')),
      'a picture that can run scripts',
    ],
    [dataUri('text/html', Buffer.from('<script>')), 'a page'],
    [
      dataUri('image/png', Buffer.from('<script>alert(1)</script>')),
      'a page that claims to be a picture',
    ],
    [dataUri('image/gif', png), 'a picture that claims to be another'],
    [dataUri('image/png', Buffer.concat([png, Buffer.alloc(1024 * 1024)])), 'more than a mebibyte'],
    ['data:image/png;base64,', 'nothing'],
    ['data:image/png,plain', 'no base64'],
  ])('may not be %.40s: %s', (text) => {
    expect(() => parseAvatar(text)).toThrow('INVALID_AVATAR')
  })
})
