import { hash } from 'node:crypto'
import { minidenticon } from 'minidenticons'
import { DomainError } from '../../core/errors.ts'
import { hasInvisibleCharacters } from '../../core/invisible-characters.ts'

/** A picture uploaded as a data URI. */
export interface Avatar {
  readonly contentType: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'
  readonly data: Buffer
}

/**
 * Value of `users.avatar_url` for an uploaded picture. The bytes are in `user_avatars`, so that
 * lists of accounts do not load them.
 */
export const UPLOADED = 'data:'

const MAX_AVATAR_BYTES = 1024 * 1024
const MAX_URL_CHARACTERS = 2048

/** Base64 takes four characters for three bytes. Longer texts are refused before decoding. */
const MAX_DATA_URI_CHARACTERS = Math.ceil(MAX_AVATAR_BYTES / 3) * 4 + 64

const DATA_URI = /^data:image\/(png|jpe?g|gif|webp);base64,([A-Za-z0-9+/]+={0,2})$/i

/**
 * Parses an avatar from a request.
 *
 * @returns '' for none, an https URL, or the picture in a data URI.
 */
export function parseAvatar(text: string): string | Avatar {
  if (text === '') return ''
  if (isAvatarUrl(text)) return text
  const match = text.length <= MAX_DATA_URI_CHARACTERS ? DATA_URI.exec(text) : null
  const data = Buffer.from(match?.[2] ?? '', 'base64')
  const contentType = pictureType(data)
  const claimed = `image/${(match?.[1] ?? '').toLowerCase().replace('jpg', 'jpeg')}`
  if (!contentType || contentType !== claimed || data.length > MAX_AVATAR_BYTES)
    throw new DomainError('INVALID_AVATAR')
  return { contentType, data }
}

/** Returns whether a text is a plausible URL of a picture. */
export function isAvatarUrl(text: string): boolean {
  return (
    text.startsWith('https://') &&
    text.length <= MAX_URL_CHARACTERS &&
    URL.canParse(text) &&
    !hasInvisibleCharacters(text)
  )
}

/**
 * Detects the type by the first bytes of the file
 * (https://mimesniff.spec.whatwg.org/#matching-an-image-type-pattern).
 */
function pictureType(data: Buffer): Avatar['contentType'] | undefined {
  const starts = (text: string, at = 0) =>
    data.subarray(at, at + text.length).equals(Buffer.from(text, 'latin1'))
  if (starts('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (starts('\xff\xd8\xff')) return 'image/jpeg'
  if (starts('GIF87a') || starts('GIF89a')) return 'image/gif'
  if (starts('RIFF') && starts('WEBPVP', 8)) return 'image/webp'
  return undefined
}

const SEED = /^[0-9a-f]{32}$/

/**
 * Returns the seed of the generated picture of an account. The number of an account never changes,
 * and is public wherever the address of the picture is.
 */
export function avatarSeed(accountId: number): string {
  return hash('sha256', `account ${accountId}`).slice(0, 32)
}

/**
 * Draws a picture, as SVG. The same seed always gives the same picture.
 *
 * @throws AVATAR_NOT_FOUND for a text that is no seed.
 */
export function drawAvatar(seed: string): string {
  if (!SEED.test(seed))
    throw new DomainError('AVATAR_NOT_FOUND', { name: `avatars/${seed.slice(0, 64)}` })
  return minidenticon(seed)
}
