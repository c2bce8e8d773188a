import { describe, expect, it } from 'vitest'
import { parseCommit, parseTag } from '../../../../src/platform/git/objects/raw-objects.ts'

const ID = '1'.repeat(40)
const TREE = '2'.repeat(40)
const PARENT = '3'.repeat(40)
const PERSON = 'Ada Lovelace <ada@example.org> 1770000000 -0130'

const signed = `tree ${TREE}
parent ${PARENT}
author ${PERSON}
committer ${PERSON}
gpgsig -----BEGIN PGP SIGNATURE-----
 
 iQ==
 -----END PGP SIGNATURE-----
mergetag object ${PARENT}
 type commit

message

gpgsig is only a word here
`

describe('a commit', () => {
  it('has a signature and the exact bytes that were signed', () => {
    const { signature, message, parentIds, author } = parseCommit(ID, Buffer.from(signed))
    expect(signature?.signature).toBe(
      '-----BEGIN PGP SIGNATURE-----\n\niQ==\n-----END PGP SIGNATURE-----',
    )
    expect(signature?.payload.toString()).toBe(
      signed.replace(/gpgsig -[\s\S]*?END PGP SIGNATURE-----\n/, ''),
    )
    expect(message).toBe('message\n\ngpgsig is only a word here\n')
    expect(parentIds).toEqual([PARENT])
    expect(author).toEqual({
      name: 'Ada Lovelace',
      email: 'ada@example.org',
      time: 1_770_000_000,
      offsetMinutes: -90,
    })
  })

  it('does not sign other signatures, such as those for another hash function', () => {
    const two = signed
      .replace('mergetag', 'gpgsig-sha256 x\n y\nmergetag')
      .replace('\n\nmessage', '\ngpgsig z\n\nmessage')
    const { signature } = parseCommit(ID, Buffer.from(two))
    expect(signature?.signature).toBe(
      '-----BEGIN PGP SIGNATURE-----\n\niQ==\n-----END PGP SIGNATURE-----\nz',
    )
    expect(signature?.payload).toEqual(parseCommit(ID, Buffer.from(signed)).signature?.payload)
    const other = Buffer.from(signed.replace('gpgsig', 'gpgsig-sha256'))
    expect(parseCommit(ID, other).signature).toBeUndefined()
  })

  it('is signed in its own encoding', () => {
    const bytes = Buffer.from('author \xe9 <> 1 +0000\ngpgsig x\n\n\xe9', 'latin1')
    const payload = Buffer.from('author \xe9 <> 1 +0000\n\n\xe9', 'latin1')
    expect(parseCommit(ID, bytes).signature).toEqual({ signature: 'x', payload })
  })

  it.each([
    ['author Ada', { name: 'Ada', email: '', time: 0 }],
    ['author <>', { name: '', email: '', time: 0 }],
    ['author A <a> b> 12 +0000', { name: 'A', email: 'a', time: 12 }],
    ['author A <a@b> never', { name: 'A', email: 'a@b', time: 0 }],
    ['author > A <', { name: '> A <', email: '', time: 0 }],
    ['', { name: '', email: '', time: 0 }],
  ])('may have been written by anything: %j', (header, person) => {
    expect(parseCommit(ID, Buffer.from(`${header}\n\n`)).author).toMatchObject(person)
  })

  it('is decoded with the encoding that it names, if that exists', () => {
    const bytes = (encoding: string) =>
      Buffer.from(`author \xe9 <> 1 +0000\nencoding ${encoding}\n\n\xe9`, 'latin1')
    expect(parseCommit(ID, bytes('ISO-8859-1'))).toMatchObject({
      message: 'é',
      author: { name: 'é' },
    })
    expect(parseCommit(ID, bytes('nonsense'))).toMatchObject({ message: '\ufffd' })
  })

  it('can be truncated anywhere', () => {
    const whole = Buffer.from(signed)
    for (let end = 0; end <= whole.length; end++)
      expect(parseCommit(ID, whole.subarray(0, end)).id).toBe(ID)
  })
})

describe('a tag', () => {
  it('has a message without the signature', () => {
    const text = `object ${PARENT}\ntype commit\ntag v1\ntagger ${PERSON}\n\nfirst\n`
    const signature = '-----BEGIN SSH SIGNATURE-----\nx\n-----END SSH SIGNATURE-----\n'
    expect(parseTag(ID, Buffer.from(text + signature))).toEqual({
      id: ID,
      name: 'v1',
      target: { id: PARENT, type: 'commit' },
      tagger: {
        name: 'Ada Lovelace',
        email: 'ada@example.org',
        time: 1_770_000_000,
        offsetMinutes: -90,
      },
      message: 'first\n',
      signature: { signature, payload: Buffer.from(text) },
    })
    const quoted = `${text}${signature}`
    expect(parseTag(ID, Buffer.from(quoted + signature)).signature).toEqual({
      signature,
      payload: Buffer.from(quoted),
    })
    expect(parseTag(ID, Buffer.from(text)).signature).toBeUndefined()
  })
})
