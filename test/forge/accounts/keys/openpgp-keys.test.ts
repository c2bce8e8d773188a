import {
  armor,
  config,
  createMessage,
  enums,
  generateKey,
  type PrivateKey,
  readKey,
  revokeKey,
  type SecretKeyPacket,
  SignaturePacket,
  sign,
} from 'openpgp'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  hasSigned,
  KEY_FLAGS,
  readOpenPgpKey,
} from '../../../../src/forge/accounts/keys/openpgp.ts'

const userIDs = [{ name: 'Bob', email: 'bob@example.org' }]
const DAY_MS = 24 * 60 * 60 * 1000

let bob: PrivateKey
let carol: PrivateKey

async function newKey(
  options: Partial<Parameters<typeof generateKey>[0]> = {},
): Promise<PrivateKey> {
  const { privateKey } = await generateKey({ userIDs, ...options, format: 'object' })
  return privateKey
}

/** Returns the armored public key. */
function publicKeyOf(key: PrivateKey): string {
  return key.toPublic().armor()
}

async function signatureOf(key: PrivateKey, text: string): Promise<string> {
  const message = await createMessage({ binary: Buffer.from(text) })
  return (await sign({ message, signingKeys: key, detached: true })) as string
}

const refused = (problem: string) =>
  expect.objectContaining({
    reason: 'INVALID_GPG_KEY',
    metadata: { problem: expect.stringContaining(problem) },
  })

beforeAll(async () => {
  bob = await newKey({ subkeys: [{ sign: true }, {}] })
  carol = await newKey({ userIDs: [{ email: 'carol@example.org' }] })
})

describe('an OpenPGP key', () => {
  it('is parsed with its subkeys, addresses and key flags', async () => {
    const read = await readOpenPgpKey(publicKeyOf(bob))
    const [signing, encrypting] = bob.subkeys
    expect(read.emails).toEqual(['bob@example.org'])
    expect(read.primary).toMatchObject({
      keyId: bob.getKeyID().toHex().toUpperCase(),
      fingerprint: bob.getFingerprint(),
      flags: KEY_FLAGS.certify | KEY_FLAGS.sign,
      createTime: bob.getCreationTime().getTime() / 1000,
      expireTime: null,
    })
    expect(read.subkeys).toMatchObject([
      { keyId: signing?.getKeyID().toHex().toUpperCase(), flags: KEY_FLAGS.sign },
      {
        keyId: encrypting?.getKeyID().toHex().toUpperCase(),
        flags: KEY_FLAGS.encryptComms | KEY_FLAGS.encryptStorage,
      },
    ])
    // The packet contains the key only, without user ids.
    expect(Buffer.from(read.primary.packet, 'base64').length).toBeLessThan(100)
    expect((await readKey({ binaryKey: read.certificate })).getFingerprint()).toBe(
      bob.getFingerprint(),
    )
  })

  it.each<[string, Partial<Parameters<typeof generateKey>[0]>]>([
    ['RSA', { type: 'rsa', rsaBits: 2048 }],
    ['Ed25519 of RFC 9580', { type: 'curve25519' }],
    ['NIST P-384', { type: 'ecc', curve: 'nistP384' }],
  ])('may be one of %s', async (_, options) => {
    expect((await readOpenPgpKey(publicKeyOf(await newKey(options)))).subkeys).toHaveLength(1)
  })

  it('is stored without third-party signatures', async () => {
    const signed = await bob.toPublic().signAllUsers([carol])
    const { certificate } = await readOpenPgpKey(signed.armor())
    expect(signed.users[0]?.otherCertifications).toHaveLength(1)
    expect((await readKey({ binaryKey: certificate })).users[0]?.otherCertifications).toHaveLength(
      0,
    )
  })

  it('is stored without revoked user ids and subkeys', async () => {
    const key = await newKey({
      userIDs: [...userIDs, { email: 'old@example.org' }],
      subkeys: [{ sign: true }, {}],
    })
    // The packet of a private key is a secret key packet.
    const secret = key.keyPacket as SecretKeyPacket
    const [kept, old] = key.users
    const [first, second] = key.subkeys
    if (!kept || !old || !first || !second) throw new Error('the key has two of each')
    key.users = [kept, await old.revoke(secret)]
    key.subkeys = [await first.revoke(secret), second]
    const read = await readOpenPgpKey(publicKeyOf(key))
    expect(read.emails).toEqual(['bob@example.org'])
    expect(read.subkeys.map(({ fingerprint }) => fingerprint)).toEqual([second.getFingerprint()])
  })

  it("does not sign with another person's subkey that is bound to it", async () => {
    const [stolen] = (await readKey({ armoredKey: publicKeyOf(bob) })).subkeys
    if (!stolen) throw new Error('bob has a subkey that signs')
    const thief = await newKey({ subkeys: [] })
    const binding = new SignaturePacket()
    binding.signatureType = enums.signature.subkeyBinding
    binding.publicKeyAlgorithm = thief.keyPacket.algorithm
    binding.hashAlgorithm = enums.hash.sha512
    binding.keyFlags = new Uint8Array([KEY_FLAGS.sign])
    const secret = thief.keyPacket as SecretKeyPacket
    // The types of the library omit some parameters.
    const signBinding = binding.sign.bind(binding) as unknown as (
      ...args: unknown[]
    ) => Promise<void>
    await signBinding(secret, { key: secret, bind: stolen.keyPacket }, new Date(), false, config)
    stolen.bindingSignatures = [binding]
    thief.subkeys = [stolen]
    const read = await readOpenPgpKey(publicKeyOf(thief))
    expect(read.subkeys).toMatchObject([{ fingerprint: stolen.getFingerprint(), flags: 0 }])
    expect(
      await hasSigned(read.certificate, await signatureOf(bob, 'one'), ['one'], Date.now() + 1000),
    ).toBe(false)
  })

  it('is accepted after it has expired, because it may have signed before', async () => {
    const date = new Date(Date.now() - 2 * DAY_MS)
    const read = await readOpenPgpKey(
      publicKeyOf(await newKey({ date, keyExpirationTime: 60, subkeys: [{}] })),
    )
    expect(read.primary.expireTime).toBe(Math.floor(date.getTime() / 1000) + 60)
    expect(read.subkeys).toHaveLength(1)
  })

  it('is refused if it was revoked', async () => {
    const { publicKey } = await revokeKey({ key: bob, format: 'armored' })
    await expect(readOpenPgpKey(publicKey)).rejects.toEqual(refused('revoked'))
  })

  it('is refused if it is private, whatever its armor says', async () => {
    await expect(readOpenPgpKey(bob.armor())).rejects.toEqual(refused('private'))
    const disguised = armor(enums.armor.publicKey, bob.write())
    await expect(readOpenPgpKey(disguised)).rejects.toEqual(refused('private'))
  })

  it.each<[string, () => Promise<string> | string, string]>([
    ['nothing', () => '', 'not an armored'],
    ['a text', () => 'hello', 'not an armored'],
    ['a signature', () => signatureOf(bob, 'hello'), 'not an armored'],
    [
      'two keys',
      () =>
        armor(
          enums.armor.publicKey,
          Buffer.concat([bob.toPublic().write(), carol.toPublic().write()]),
        ),
      '2 keys',
    ],
    ['cut off', () => publicKeyOf(bob).slice(0, 400), 'not an armored'],
    ['too large', () => publicKeyOf(bob) + ' '.repeat(64 * 1024), '65536 bytes'],
    ['Ed448', async () => publicKeyOf(await newKey({ type: 'curve448' })), 'ed448'],
    [
      'RSA of 1024 bits',
      async () =>
        publicKeyOf(await newKey({ type: 'rsa', rsaBits: 1024, config: { minRSABits: 1024 } })),
      '1024',
    ],
    [
      'one of more parts than anybody has',
      async () => {
        const key = await readKey({ armoredKey: publicKeyOf(bob) })
        const [user] = key.users
        const [signature] = user?.selfCertifications ?? []
        if (!user || !signature) throw new Error('the key has a name')
        user.selfCertifications = Array.from({ length: 100 }, () => signature)
        return key.armor()
      },
      'at most 100',
    ],
    [
      'one whose name somebody else signed',
      async () => {
        const key = await readKey({ armoredKey: publicKeyOf(bob) })
        key.users = carol.toPublic().users
        return key.armor()
      },
      'no self-signed user id',
    ],
    [
      'one whose signature was changed',
      async () => {
        const bytes = Buffer.from(bob.toPublic().write())
        const name = bytes.indexOf('bob@')
        bytes[name] = 'x'.charCodeAt(0)
        return armor(enums.armor.publicKey, bytes)
      },
      'no self-signed user id',
    ],
  ])('is not %s', async (_, make, problem) => {
    await expect(readOpenPgpKey(await make())).rejects.toEqual(refused(problem))
  })
})

describe('a detached signature', () => {
  const texts = ['one', 'two\n']
  const check = async (signature: string, key = bob, nowMs = Date.now() + 1000) =>
    hasSigned((await readOpenPgpKey(publicKeyOf(key))).certificate, signature, texts, nowMs)

  it('is valid for any of the texts, by the key or a signing subkey', async () => {
    expect(await check(await signatureOf(bob, 'one'))).toBe(true)
    expect(await check(await signatureOf(bob, 'two\n'))).toBe(true)
    const plain = await newKey({ subkeys: [] })
    expect(await check(await signatureOf(plain, 'one'), plain)).toBe(true)
  })

  it.each<[string, () => Promise<string> | string]>([
    ['of another text', () => signatureOf(bob, 'three')],
    ['of another key', () => signatureOf(carol, 'one')],
    ['empty', () => ''],
    ['no signature', () => publicKeyOf(bob)],
    [
      'longer than signatures are',
      async () => `${await signatureOf(bob, 'one')}${' '.repeat(8192)}`,
    ],
    ['cut off', async () => (await signatureOf(bob, 'one')).slice(0, 120)],
  ])('proves nothing if it is %s', async (_, make) => {
    expect(await check(await make())).toBe(false)
  })

  it('proves nothing before it was made', async () => {
    expect(await check(await signatureOf(bob, 'one'), bob, Date.now() - DAY_MS)).toBe(false)
  })
})
