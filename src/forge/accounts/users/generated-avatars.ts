import { hash } from 'node:crypto'
import { minidenticon } from 'minidenticons'
import { DomainError } from '../../core/errors.ts'

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
