import { createClient } from '@connectrpc/connect'
import { expect } from 'vitest'
import { ReviewService } from '#gen/branchline/v1/review_service_pb.ts'
import { type PullTestUsers, pullForge } from './pull-forge.ts'
import { type Actor, type TestServer, transportTo } from './server.ts'

/**
 * A pull request of carol's from `topic` to `main` of a repository of bob's, who lets her write.
 */
export interface ReviewedPull {
  readonly name: string
  /**
   * Path of the repository, of the pull request, of its reviews and of whoever is asked for one,
   * behind `/api/v1`.
   */
  readonly path: string
  readonly pull: string
  readonly reviews: string
  readonly requested: string
  /** The head. */
  readonly head: string
}

/** What stories about reviews do with a server. */
export function reviewForge(server: TestServer, users: PullTestUsers) {
  const forge = pullForge(server)
  return {
    ...forge,
    async pull(name: string, fields: object = {}, request: object = {}): Promise<ReviewedPull> {
      const { path, pulls } = await forge.repository(users.bob, name, fields)
      await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
      const head = await forge.change(users.carol, path, 'topic')
      await forge.ask(users.carol, 'POST', pulls, {
        head: 'topic',
        base: 'main',
        title: 'A change',
        ...request,
      })
      const pull = `${pulls}/1`
      return {
        name,
        path,
        pull,
        reviews: `${pull}/reviews`,
        requested: `${pull}/requested_reviewers`,
        head,
      }
    },
    /** Reviews a pull request, which has to succeed. */
    review: (
      who: Actor,
      { reviews }: ReviewedPull,
      event: string,
      body = 'Well.',
      more: object = {},
    ) => forge.ask(who, 'POST', reviews, { event, body, ...more }),
    /** What somebody sees of the reviews of a pull request: state, and whose, of each. */
    async seen(
      who: Pick<Actor, 'authorization'> | undefined,
      { reviews }: ReviewedPull,
    ): Promise<string[]> {
      const { status, body } = await forge.rest(who, 'GET', reviews)
      expect(status).toBe(200)
      return body.map(
        ({
          state,
          user,
          team,
        }: {
          state: string
          user: { login: string } | null
          team: { name: string } | null
        }) => `${state} ${user?.login ?? team?.name}`,
      )
    },
    /** The reviews of somebody by gRPC. */
    reviewsAs: (who: Pick<Actor, 'authorization'> | undefined) =>
      createClient(ReviewService, transportTo(server.url, 'gRPC', who?.authorization)),
  }
}
