import type { App } from '../app.ts'
import type { OpenRepository } from '../repositories/access/permissions.ts'
import { gitUrls } from '../repositories/lifecycle/repository.message.ts'
import type { Conversation } from './schema.ts'

/** The URL of the page of a conversation, in the field of its kind. The other field is empty. */
export interface ConversationUrls {
  readonly page: string
  readonly issueUrl: string
  readonly pullRequestUrl: string
}

export function conversationUrls(
  app: App,
  open: Pick<OpenRepository, 'repository' | 'owner'>,
  { number, is_pull }: Pick<Conversation, 'number' | 'is_pull'>,
): ConversationUrls {
  const isPull = is_pull === 1
  const page = gitUrls(app, open).html(`/${isPull ? 'pulls' : 'issues'}/${number}`)
  return { page, issueUrl: isPull ? '' : page, pullRequestUrl: isPull ? page : '' }
}
