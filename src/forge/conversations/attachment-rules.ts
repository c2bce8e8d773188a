import { checkLength } from '../accounts/users/user-fields.ts'
import { DomainError } from '../core/errors.ts'
import { FILE_NAME } from '../repositories/attachments/stored-files.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { isTypeAllowed } from './attachment-types.ts'

/** Attachments of a conversation, with those of its comments. */
export const MAX_ATTACHMENTS = 250

const MAX_NAME_CHARACTERS = 255

/** A file that a client uploads. */
export interface AttachmentUpload {
  readonly name: string
  readonly content: AsyncIterable<Uint8Array>
}

/** The rules of uploads of attachments. */
export function uploadRules({ settings }: ReposApp) {
  const maxBytes = settings.maxAttachmentBytes
  return {
    maxBytes,
    allowsEmpty: false,
    tooLarge: () => new DomainError('ATTACHMENT_TOO_LARGE', { max_bytes: String(maxBytes) }),
    noFile: () => new DomainError('INVALID_FIELD', { field: 'attachment', rule: 'Required' }),
    gone: () => new DomainError('REPOSITORY_NOT_FOUND'),
  }
}

/** @throws INVALID_FIELD, ATTACHMENT_TYPE_REFUSED */
export function checkFileName({ settings }: ReposApp, name: string): void {
  if (!FILE_NAME.test(name)) throw new DomainError('INVALID_FIELD', { field: 'name' })
  checkLength('name', name, MAX_NAME_CHARACTERS)
  if (!isTypeAllowed(name, settings.attachmentTypes)) {
    const allowed = settings.attachmentTypes.join(',')
    throw new DomainError('ATTACHMENT_TYPE_REFUSED', { allowed })
  }
}

/** @throws TOO_MANY_ATTACHMENTS */
export function checkCount(present: number, more: number): void {
  if (present + more > MAX_ATTACHMENTS)
    throw new DomainError('TOO_MANY_ATTACHMENTS', { limit: String(MAX_ATTACHMENTS) })
}
