import { fromJson, type JsonObject } from '@bufbuild/protobuf'
import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { expect } from 'vitest'
import {
  MergePullRequestRequestSchema,
  PullMergeService,
} from '#gen/branchline/v1/pull_merge_service_pb.ts'
import { ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.ts'
import { restAt } from './rest.ts'
import { type Actor, type TestServer, transportTo } from './server.ts'

/** Somebody, or nobody. */
type Who = Pick<Actor, 'authorization'> | undefined

/** What a refusal is over REST, and over gRPC. */
export interface Refused {
  readonly status: number
  readonly message: string
  readonly code: string
  readonly reason: string | undefined
}

/**
 * Merges of pull requests, which are named by the paths of their own: `/repos/bob/engine/pulls/1`.
 */
export function pullMerges({ url }: Pick<TestServer, 'url'>) {
  const rest = restAt(url)
  const grpcAs = (who: Who) =>
    createClient(PullMergeService, transportTo(url, 'gRPC', who?.authorization))
  const merge = (who: Who, pull: string, body: JsonObject = {}) =>
    rest(who, 'POST', `${pull}/merge`, body)
  /** The same over gRPC. */
  const mergeByGrpc = (who: Who, pull: string, body: JsonObject = {}) => {
    const [, , owner = '', repo = '', , index = ''] = pull.split('/')
    return grpcAs(who).mergePullRequest(
      fromJson(MergePullRequestRequestSchema, { ...body, owner, repo, index }),
    )
  }
  return {
    grpcAs,
    merge,
    mergeByGrpc,
    /** What a merge is refused with, which is the same every time. */
    async refusalOf(who: Who, pull: string, body: JsonObject = {}): Promise<Refused> {
      const { status, body: answer } = await merge(who, pull, body)
      const error = ConnectError.from(
        await mergeByGrpc(who, pull, body).then(
          () => expect.fail('was not refused'),
          (thrown: unknown) => thrown,
        ),
      )
      const [info] = error.findDetails(ErrorInfoSchema)
      expect(error.rawMessage).toBe(answer.message)
      return { status, message: answer.message, code: Code[error.code] ?? '', reason: info?.reason }
    },
  }
}
