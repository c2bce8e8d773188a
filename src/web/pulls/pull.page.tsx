import type { VNode } from 'preact'
import type { PageProps } from '../routes.ts'
import { Conversation } from './conversation.tsx'
import { PullFrame } from './pull-frame.tsx'

/** The conversation of a pull request. */
export function PullPage(page: PageProps): VNode {
  return <PullFrame page={page}>{(props) => <Conversation {...props} />}</PullFrame>
}
