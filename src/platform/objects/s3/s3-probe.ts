import { createHash, randomUUID } from 'node:crypto'
import { StoreUnavailableError } from '../object-store.ts'
import { bodyOf, type S3Client, S3RefusalError } from './s3-client.ts'

/** Names the instance whose contents the bucket has. */
const INSTANCE_KEY = '.branchline-instance'
const PROBE_KEYS = '.branchline-probe/'

/** A PUT that must not replace an object. */
const ONLY_NEW = { 'if-none-match': '*' }

/** The object exists, or another request creates it at this moment. */
const EXISTS = [409, 412]

/** What an S3 server can do. */
export interface S3Abilities {
  /** Whether the server refuses contents that differ from the checksum in their header. */
  readonly refusesWrongChecksums: boolean
}

/**
 * Checks that the bucket belongs to this instance, or takes a bucket that belongs to none.
 *
 * @param id the id of the data folder.
 * @throws Error with a sentence for the operator.
 */
export async function claimBucket(client: S3Client, id: string): Promise<void> {
  const owner = await explaining(async () => (await ownerOf(client)) ?? (await claim(client, id)))
  if (owner !== id) throw foreign(client)
}

function foreign(client: S3Client): Error {
  return new Error(
    `${placeOf(client)} belongs to another instance: name another bucket or another prefix`,
  )
}

/**
 * Checks that the bucket belongs to no instance.
 *
 * @throws Error with a sentence for the operator.
 */
export async function checkUnclaimed(client: S3Client): Promise<void> {
  if ((await explaining(() => ownerOf(client))) !== undefined) throw foreign(client)
}

/** Returns the id of the data folder to which a bucket belongs; undefined for none. */
export async function ownerOf(client: S3Client): Promise<string | undefined> {
  const { status, text } = await client.send({ method: 'GET', key: INSTANCE_KEY, accepts: [404] })
  return status === 404 ? undefined : text.trim()
}

async function claim(client: S3Client, id: string): Promise<string | undefined> {
  await client.send({
    method: 'PUT',
    key: INSTANCE_KEY,
    headers: ONLY_NEW,
    body: bodyOf(`${id}\n`),
    accepts: EXISTS,
  })
  return ownerOf(client)
}

/**
 * Writes, reads, replaces and deletes a small object.
 *
 * @throws Error with a sentence for the operator.
 */
export function probeBucket(client: S3Client): Promise<S3Abilities> {
  return explaining(async () => {
    const key = `${PROBE_KEYS}${randomUUID()}`
    await client.send({ method: 'PUT', key, body: bodyOf('0123456789') })
    try {
      const range = { range: 'bytes=2-4' }
      const part = await client.send({ method: 'GET', key, headers: range, accepts: [404] })
      if (part.status !== 206 || part.text !== '234')
        throw new Error(`${placeOf(client)} does not return a part of an object`)
      return { refusesWrongChecksums: await refusesWrongChecksums(client, key) }
    } finally {
      await client.send({ method: 'DELETE', key, accepts: [404] })
    }
  })
}

async function refusesWrongChecksums(client: S3Client, key: string): Promise<boolean> {
  const other = createHash('sha256').update('other content').digest('base64')
  const headers = { 'x-amz-checksum-sha256': other }
  const body = bodyOf('content')
  const { status } = await client.send({ method: 'PUT', key, headers, body, accepts: [400] })
  return status === 400
}

async function explaining<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error
    const reason = error instanceof S3RefusalError ? error.message : reasonOf(error)
    throw new Error(`--object-storage cannot be used: ${reason}`, { cause: error })
  }
}

function reasonOf({ message, cause }: Error): string {
  return cause instanceof Error && cause.message !== '' ? `${message} (${cause.message})` : message
}

function placeOf({ address: { bucket, prefix } }: S3Client): string {
  return `s3://${bucket}/${prefix}`
}
