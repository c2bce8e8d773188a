import {
  armor,
  config,
  createMessage,
  enums,
  generateKey,
  PacketList,
  type PrivateKey,
  type PublicKey,
  readKey,
  reformatKey,
  revokeKey,
  type SecretKeyPacket,
  SignaturePacket,
  sign,
} from 'openpgp'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  isOpenPgpSignatureOf,
  openCertificate,
  readOpenPgpKey,
  readOpenPgpSignature,
} from '../../../../src/forge/accounts/keys/openpgp.ts'

const TEXT = 'tree 0\n\nmessage\n'
const DAY_MS = 24 * 60 * 60 * 1000
const START = new Date('2026-01-01T00:00:00Z')
const userIDs = [{ name: 'Bob', email: 'bob@example.org' }]

let bob: PrivateKey

async function newKey(
  options: Partial<Parameters<typeof generateKey>[0]> = {},
): Promise<PrivateKey> {
  const { privateKey } = await generateKey({ userIDs, date: START, ...options, format: 'object' })
  return privateKey
}

function daysLater(days: number): Date {
  return new Date(START.getTime() + days * DAY_MS)
}

async function signatureOf(key: PrivateKey, date: Date, text = TEXT): Promise<string> {
  const message = await createMessage({ binary: Buffer.from(text) })
  return (await sign({ message, signingKeys: key, detached: true, date })) as string
}

/**
 * Returns whether an armored signature is valid for a stored key; undefined if it cannot be parsed.
 */
async function check(armored: string, key: PublicKey, text = TEXT): Promise<boolean | undefined> {
  const signature = await readOpenPgpSignature(armored)
  const { certificate } = await readOpenPgpKey(key.armor())
  return (
    signature && isOpenPgpSignatureOf(signature, openCertificate(certificate), Buffer.from(text))
  )
}

beforeAll(async () => {
  bob = await newKey({ subkeys: [{ sign: true }, {}] })
})

describe('an OpenPGP signature', () => {
  it('names the key or subkey that made it, and its time', async () => {
    expect(await readOpenPgpSignature(await signatureOf(bob, daysLater(1)))).toMatchObject({
      keyId: bob.subkeys[0]?.getKeyID().toHex().toUpperCase(),
      createTime: daysLater(1).getTime(),
      expireTime: Number.POSITIVE_INFINITY,
    })
  })

  it.each<[string, Partial<Parameters<typeof generateKey>[0]>]>([
    ['a key', {}],
    ['a subkey', { subkeys: [{ sign: true }] }],
    ['RSA', { type: 'rsa', rsaBits: 2048 }],
    ['a curve', { type: 'ecc', curve: 'nistP384' }],
    ['the new packets of curves', { type: 'curve25519' }],
  ])('by %s is valid for its own text only', async (_, options) => {
    const key = await newKey(options)
    const armored = await signatureOf(key, daysLater(1))
    expect(await check(armored, key.toPublic())).toBe(true)
    expect(await check(armored, key.toPublic(), `${TEXT} `)).toBe(false)
    expect(await check(armored, bob.toPublic())).toBe(false)
  })

  it.each([
    ['expired when it was made', 3, false],
    ['expired after it was made', 1, true],
    ['did not exist yet', -1, false],
  ])('is checked against a key that %s', async (_, day, isGood) => {
    const key = await newKey({ keyExpirationTime: (2 * DAY_MS) / 1000 })
    expect(await check(await byHand(key, daysLater(day)), key.toPublic())).toBe(isGood)
  })

  it('remains valid when the key gets a new expiry and self-signature', async () => {
    const key = await newKey({ keyExpirationTime: (2 * DAY_MS) / 1000 })
    const [early, late] = [await signatureOf(key, daysLater(1)), await byHand(key, daysLater(3))]
    const extended = await reformatKey({
      privateKey: key,
      userIDs,
      date: daysLater(10),
      keyExpirationTime: (12 * DAY_MS) / 1000,
      format: 'object',
    })
    expect(await check(early, extended.publicKey)).toBe(true)
    expect(await check(late, extended.publicKey)).toBe(true)
    expect(await check(await byHand(key, daysLater(13)), extended.publicKey)).toBe(false)
  })

  it.each([
    ['stolen', enums.reasonForRevocation.keyCompromised, [false, false]],
    ['no longer used', enums.reasonForRevocation.keyRetired, [true, false]],
  ])('is checked against a subkey that was revoked as %s', async (_, flag, expected) => {
    const key = await newKey({ subkeys: [{ sign: true }] })
    const [before, after] = [
      await signatureOf(key, daysLater(1)),
      await signatureOf(key, daysLater(3)),
    ]
    const [subkey] = key.subkeys
    const revoked = await subkey?.revoke(key.keyPacket as SecretKeyPacket, { flag }, daysLater(2))
    if (revoked) key.subkeys[0] = revoked
    const certificate = openCertificate(Buffer.from(key.toPublic().write()))
    const results: boolean[] = []
    for (const armored of [before, after]) {
      const signature = await readOpenPgpSignature(armored)
      results.push(
        signature !== undefined &&
          (await isOpenPgpSignatureOf(signature, certificate, Buffer.from(TEXT))),
      )
    }
    expect(results).toEqual(expected)
  })

  it('is invalid if the key is revoked', async () => {
    const key = await newKey()
    const armored = await signatureOf(key, daysLater(1))
    const reasonForRevocation = { flag: enums.reasonForRevocation.keyCompromised }
    const { publicKey } = await revokeKey({ key, reasonForRevocation, format: 'object' })
    const certificate = readKey({ armoredKey: publicKey.armor() })
    const signature = await readOpenPgpSignature(armored)
    expect(
      signature && (await isOpenPgpSignatureOf(signature, certificate, Buffer.from(TEXT))),
    ).toBe(false)
  })

  it('is invalid if the key cannot be parsed any more', async () => {
    const signature = await readOpenPgpSignature(await signatureOf(bob, daysLater(1)))
    const certificate = openCertificate(Buffer.from('no key'))
    expect(
      signature && (await isOpenPgpSignatureOf(signature, certificate, Buffer.from(TEXT))),
    ).toBe(false)
  })

  it('is invalid with a weak hash', async () => {
    const key = await newKey({ type: 'rsa', rsaBits: 2048 })
    const armored = await byHand(key, daysLater(1), { hashAlgorithm: enums.hash.sha1 })
    expect(await check(armored, key.toPublic())).toBe(false)
    expect(await check(await byHand(key, daysLater(1)), key.toPublic())).toBe(true)
  })

  it.each<[string, () => Promise<string>]>([
    // It would be valid for every text.
    ['of nothing', () => byHand(bob, daysLater(1), { signatureType: enums.signature.standalone })],
    ['twice', async () => (await signatureOf(bob, START)).repeat(2)],
    ['with something behind it', async () => `${await signatureOf(bob, START)}more`],
    ['with something in front of it', async () => `more\n${await signatureOf(bob, START)}`],
    ['cut off', async () => (await signatureOf(bob, START)).slice(0, -80)],
    ['of X.509', async () => '-----BEGIN SIGNED MESSAGE-----\niQ==\n-----END SIGNED MESSAGE-----'],
    [
      'that is too long',
      async () =>
        `-----BEGIN PGP SIGNATURE-----\n\n${'A'.repeat(9000)}\n-----END PGP SIGNATURE-----`,
    ],
    ['that is a key', async () => bob.toPublic().armor()],
    ['that is empty', async () => ''],
  ])('is refused if it is one %s', async (_, make) => {
    expect(await readOpenPgpSignature(await make())).toBeUndefined()
  })

  it('may have line endings of another system, and a comment', async () => {
    const armored = (await signatureOf(bob, START)).replace(
      '\n\n',
      '\nComment: https://a-b.example/--x\n\n',
    )
    expect(await check(armored.trim(), bob.toPublic())).toBe(true)
    expect(await check(armored.replaceAll('\n', '\r\n'), bob.toPublic())).toBe(true)
  })
})

/** Creates an armored signature that the library would not create. */
async function byHand(
  key: PrivateKey,
  date: Date,
  { signatureType = enums.signature.binary, hashAlgorithm = enums.hash.sha256 } = {},
): Promise<string> {
  const packet = Object.assign(new SignaturePacket(), {
    signatureType,
    hashAlgorithm,
    publicKeyAlgorithm: key.keyPacket.algorithm,
    issuerKeyID: key.getKeyID(),
    issuerKeyVersion: 4,
    issuerFingerprint: key.keyPacket.getFingerprintBytes(),
  })
  const { packets } = await createMessage({ binary: Buffer.from(TEXT) })
  // The types of the library omit some parameters.
  const signText = packet.sign.bind(packet) as unknown as (...args: unknown[]) => Promise<void>
  await signText(key.keyPacket, packets[0], date, true, {
    ...config,
    nonDeterministicSignaturesViaNotation: false,
  })
  const list = new PacketList()
  list.push(packet)
  return armor(enums.armor.signature, list.write())
}
