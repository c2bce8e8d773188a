import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  type LfsLock,
  LfsLockSchema,
  type LfsObject,
  LfsObjectSchema,
  LfsService,
} from '#gen/branchline/v1/lfs_service_pb.ts'
import type { App } from '../../app.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { readNumberedPage } from '../../core/wire/pages.ts'
import { atSecond } from '../../core/wire/times.ts'
import {
  deleteObjectOf,
  type ListedLfsObject,
  listLocksOf,
  listObjectsOf,
} from './lfs-administration.ts'
import type { OwnedLock } from './lfs-locks.ts'
import { requestLfsSweeps } from './lfs-sweeps.ts'

/** Implements LfsService. */
function lfsService(app: App): ServiceImpl<typeof LfsService> {
  return {
    async listLfsObjects({ owner, repo, sort, ...request }, context) {
      const page = readNumberedPage(app.settings, request)
      const caller = callerOf(context)
      const { objects, total } = await listObjectsOf(app, caller, { owner, repo }, sort, page)
      return { objects: objects.map(objectMessage), total: BigInt(total), limit: page.limit }
    },

    async deleteLfsObject({ owner, repo, oid }, context) {
      await deleteObjectOf(app, callerOf(context), { owner, repo }, oid)
      return {}
    },

    async listLfsLocks({ owner, repo, ...request }, context) {
      const page = readNumberedPage(app.settings, request)
      const { locks, total } = await listLocksOf(app, callerOf(context), { owner, repo }, page)
      return { locks: locks.map(lockMessage), total: BigInt(total), limit: page.limit }
    },

    async adminSweepLfsObjects() {
      await requestLfsSweeps(app)
      return {}
    },
  }
}

function objectMessage(object: ListedLfsObject): LfsObject {
  const { oid, bytes, create_time, unreferenced_since, isLocked } = object
  return create(LfsObjectSchema, {
    oid,
    size: BigInt(bytes),
    createdAt: atSecond(create_time),
    isLocked,
    ...(unreferenced_since !== null && { unreferencedSince: atSecond(unreferenced_since) }),
  })
}

function lockMessage({ id, path, create_time, ref, user }: OwnedLock): LfsLock {
  return create(LfsLockSchema, {
    id: String(id),
    path,
    lockedAt: atSecond(create_time),
    owner: { name: user.username },
    ref,
  })
}

export const lfs = defineService(LfsService, lfsService)
