import { create } from '@bufbuild/protobuf'
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import {
  type Milestone as MilestoneMessage,
  MilestoneSchema,
} from '#gen/branchline/v1/milestone_pb.ts'
import { MilestoneService } from '#gen/branchline/v1/milestone_service_pb.ts'
import type { App } from '../app.ts'
import { callerOf } from '../core/wire/call.ts'
import { defineService } from '../core/wire/define-service.ts'
import { readNumberedPage } from '../core/wire/pages.ts'
import { atSecond } from '../core/wire/times.ts'
import {
  createMilestone,
  deleteMilestone,
  editMilestone,
  getMilestone,
  listMilestones,
  type Milestone,
  NO_DATE_FROM_SECONDS,
  openMilestones,
} from './milestones.ts'

/** Implements MilestoneService. */
function milestoneService(app: App): ServiceImpl<typeof MilestoneService> {
  type InRepository = { owner: string; repo: string }
  const open = ({ owner, repo }: InRepository, context: HandlerContext, needed: 'read' | 'write') =>
    openMilestones(app, callerOf(context), { owner, repo }, needed)

  return {
    async listMilestones(request, context) {
      const opened = await open(request, context, 'read')
      const page = readNumberedPage(app.settings, request)
      const { state, name } = request
      const { milestones, total } = await listMilestones(app, opened, state, name, page)
      return {
        milestones: milestones.map(milestoneMessage),
        total: BigInt(total),
        limit: page.limit,
      }
    },

    async createMilestone(request, context) {
      const opened = await open(request, context, 'write')
      const dueTime = dueTimeOf(request.dueOn) ?? null
      return milestoneMessage(await createMilestone(app, opened, { ...request, dueTime }))
    },

    async getMilestone(request, context) {
      const opened = await open(request, context, 'read')
      return milestoneMessage(await getMilestone(app, opened, request.id))
    },

    async editMilestone(request, context) {
      const opened = await open(request, context, 'write')
      const { id, title, description, dueOn, state } = request
      const edit = { title, description, dueTime: dueTimeOf(dueOn), state }
      return milestoneMessage(await editMilestone(app, opened, id, edit))
    },

    async deleteMilestone(request, context) {
      await deleteMilestone(app, await open(request, context, 'write'), request.id)
      return {}
    },
  }
}

/**
 * Reads a due date in Unix seconds: null for no date, and undefined for the zero time of Go, which
 * means no change.
 */
export function dueTimeOf(time: Timestamp | undefined): number | null | undefined {
  if (time === undefined || time.seconds < 0n) return undefined
  return time.seconds >= NO_DATE_FROM_SECONDS ? null : Number(time.seconds)
}

/** Returns the message of a milestone. */
export function milestoneMessage(milestone: Milestone): MilestoneMessage {
  const { due_time, close_time } = milestone
  return create(MilestoneSchema, {
    id: BigInt(milestone.id),
    title: milestone.title,
    description: milestone.description,
    state: milestone.state,
    openIssues: BigInt(milestone.open_issues),
    closedIssues: BigInt(milestone.closed_issues),
    createdAt: atSecond(milestone.create_time),
    updatedAt: atSecond(milestone.update_time),
    ...(close_time !== null && { closedAt: atSecond(close_time) }),
    ...(due_time !== null && { dueOn: atSecond(due_time) }),
  })
}

export const milestones = defineService(MilestoneService, milestoneService)
