import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  UserStats_MemoTypeStatsSchema,
  type UserStats as UserStatsMessage,
  UserStatsSchema,
} from '#gen/branchline/v1/user_pb.ts'
import type { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { getUser } from '../../accounts/users/users.ts'
import type { App } from '../../app.ts'
import { callerOf } from '../../core/wire/call.ts'
import { parseUserName, userName } from '../../core/wire/names.ts'
import { atSecond } from '../../core/wire/times.ts'
import { readerOf } from '../memo-access.ts'
import { getUserStats, listAllUserStats, type UserStats } from './user-stats.ts'

type Methods = Pick<ServiceImpl<typeof UserService>, 'getUserStats' | 'listAllUserStats'>

/** Returns the methods of UserService for statistics. */
export function userStatsMethods(app: App): Methods {
  return {
    async getUserStats({ name }, context) {
      const user = await getUser(app, parseUserName(name))
      return statsMessage(await getUserStats(app, readerOf(callerOf(context)), user))
    },

    async listAllUserStats(_, context) {
      const stats = await listAllUserStats(app, readerOf(callerOf(context)))
      return { stats: stats.map(statsMessage) }
    },
  }
}

function statsMessage(stats: UserStats): UserStatsMessage {
  const message = create(UserStatsSchema, {
    name: userName(stats.owner),
    memoTypeStats: create(UserStats_MemoTypeStatsSchema, {
      linkCount: stats.linkCount,
      codeCount: stats.codeCount,
      todoCount: stats.taskListCount,
      undoCount: stats.incompleteTasksCount,
    }),
    // Object.fromEntries defines every key as a property. Assignment would lose `__proto__`.
    tagCount: Object.fromEntries(stats.tagCounts),
    totalMemoCount: stats.memoCount,
    ...(stats.isTruncated && { truncated: true }),
  })
  // Assigned, because `create` would look at each element of a list.
  message.memoDisplayTimestamps = stats.displayTimes.map(atSecond)
  message.pinnedMemos = stats.pinnedUids.map((uid) => `memos/${uid}`)
  return message
}
