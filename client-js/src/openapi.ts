// Made by scripts/types.mjs from the OpenAPI document of the service. Do not edit: `npm run types`.

export interface paths {
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Health
         * @description Report that the process answers. It does not use the database.
         */
        get: operations["get /health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Ready
         * @description Report whether requests can be served, with a query of the database. 503 when it does not answer.
         */
        get: operations["get /ready"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Metrics
         * @description Return Prometheus metrics.
         */
        get: operations["get /metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/working/{plan_id}/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Plan State
         * @description Return one key, with its version as ETag.
         */
        get: operations["get /v1/memory/working/{plan_id}/{key}"];
        /**
         * Set Plan State
         * @description Store a value; with a version, only if that version is stored.
         */
        put: operations["put /v1/memory/working/{plan_id}/{key}"];
        post?: never;
        /**
         * Delete Plan Key
         * @description Delete a key and its values, also from the log.
         */
        delete: operations["delete /v1/memory/working/{plan_id}/{key}"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/working/{plan_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Plan State
         * @description List the keys of a plan, by key. `X-Next-Cursor` has the cursor of the next page.
         */
        get: operations["get /v1/memory/working/{plan_id}"];
        put?: never;
        /**
         * Add Plan State
         * @description Store a value under the key in the body.
         */
        post: operations["post /v1/memory/working/{plan_id}"];
        /**
         * Delete Plan State
         * @description Delete all keys of a plan, or those that a workflow created, and their values, also from the log.
         */
        delete: operations["delete /v1/memory/working/{plan_id}"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/atomic/append": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Append To List
         * @description Append to a list, in one statement: concurrent changes are not lost.
         */
        post: operations["post /v1/memory/atomic/append"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/atomic/extend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Extend List
         * @description Append several values to a list, next to each other, in one statement.
         */
        post: operations["post /v1/memory/atomic/extend"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/atomic/merge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Update Object
         * @description Set entries of an object, in one statement; other entries stay.
         */
        post: operations["post /v1/memory/atomic/merge"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/atomic/increment": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Increment
         * @description Add to a number, in one statement.
         */
        post: operations["post /v1/memory/atomic/increment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Memories
         * @description List memories in pages: newest first, or by importance, recency (last changed first) or name (namespace and key). With `namespace` and `key`, only the current memory of that key.
         */
        get: operations["get /v1/memories"];
        put?: never;
        /**
         * Remember
         * @description Store one memory: 201 if it is new, 200 if it existed or was updated.
         */
        post: operations["post /v1/memories"];
        /**
         * Forget Key
         * @description Forget the memory under a key.
         */
        delete: operations["delete /v1/memories"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Remember Many
         * @description Store up to 1,000 memories in one transaction. Returns one receipt for each, in order, and then one for each fact that was learnt.
         */
        post: operations["post /v1/memories/batch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{memory_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Memory
         * @description Return one memory, even if it is forgotten or superseded.
         */
        get: operations["get /v1/memories/{memory_id}"];
        put?: never;
        post?: never;
        /**
         * Forget Memory
         * @description Forget a memory. You can restore it for 30 days; with `hard`, it is deleted immediately, also from the log.
         */
        delete: operations["delete /v1/memories/{memory_id}"];
        options?: never;
        head?: never;
        /**
         * Update Memory
         * @description Change the fields that are given. New content supersedes the old, which stays readable.
         */
        patch: operations["patch /v1/memories/{memory_id}"];
        trace?: never;
    };
    "/v1/memories/move": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Move Keys
         * @description Move a key and all keys below it: all of them, or none.
         */
        post: operations["post /v1/memories/move"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/forget": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Forget Keys
         * @description Forget the memories under a key and all keys below it: all of them, or none.
         */
        post: operations["post /v1/memories/forget"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{memory_id}/restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Restore Memory
         * @description Restore a memory that was forgotten less than 30 days ago.
         */
        post: operations["post /v1/memories/{memory_id}/restore"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{memory_id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get History
         * @description List all events of a memory, oldest first.
         */
        get: operations["get /v1/memories/{memory_id}/history"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/recall": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Recall
         * @description Return the memories that best answer a question, best first.
         */
        post: operations["post /v1/recall"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/items": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Batch Items
         * @description Get, put, delete, search and list items, in order, in one transaction.
         */
        post: operations["post /v1/items"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/items/read": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Read Items
         * @description Get, search and list items, without changing any.
         */
        post: operations["post /v1/items/read"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/items/namespaces": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List All Namespaces
         * @description List the namespaces in which each user of the tenant has items: only names, user by user.
         */
        get: operations["get /v1/admin/items/namespaces"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/context": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Build Context
         * @description Return the text for the prompt of a question: Markdown within a token budget, and how it was built.
         */
        post: operations["post /v1/context"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sources": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Sources
         * @description List the sources that agents can look up.
         */
        get: operations["get /v1/sources"];
        put?: never;
        /**
         * Add Source
         * @description Add a source that agents can look up, with its purpose.
         */
        post: operations["post /v1/sources"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sources/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove Source
         * @description Remove a source.
         */
        delete: operations["delete /v1/sources/{name}"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/exchanges": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Store Exchange
         * @description Store messages as short-term memories, extract facts that the user states, and update the notes of the session.
         */
        post: operations["post /v1/exchanges"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/activities": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Log Activity
         * @description Store an agent's own activity as a short-term memory of low importance.
         */
        post: operations["post /v1/activities"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{session_id}/notes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Session Notes
         * @description Return the notes of a conversation; null if it has no messages.
         */
        get: operations["get /v1/sessions/{session_id}/notes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{session_id}/end": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End Session
         * @description End a conversation. The receipt is for its summary.
         */
        post: operations["post /v1/sessions/{session_id}/end"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/semantic": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Store Knowledge
         * @description Store a fact.
         */
        post: operations["post /v1/memory/semantic"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/semantic/upsert": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Upsert Knowledge
         * @description Store a fact, or replace your own fact with the same content.
         */
        post: operations["post /v1/memory/semantic/upsert"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/semantic/query": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Query Knowledge
         * @description Return the facts that best answer the query, best first.
         */
        post: operations["post /v1/memory/semantic/query"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/semantic/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Search Knowledge
         * @description Return the facts that best answer the query, best first.
         */
        get: operations["get /v1/memory/semantic/search"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/episodic": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Log Interaction
         * @description Store an interaction.
         */
        post: operations["post /v1/memory/episodic"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/episodic/recent": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Recent History
         * @description List the last interactions of an agent, newest first.
         */
        get: operations["get /v1/memory/episodic/recent"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/episodic/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Search Interactions
         * @description Return the interactions of an agent that best answer the query, best first.
         */
        get: operations["get /v1/memory/episodic/search"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/procedural": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Store Skill
         * @description Store a prompt or example for an agent.
         */
        post: operations["post /v1/memory/procedural"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/procedural/context": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Relevant Skills
         * @description Return the skills of an agent that fit best, best first.
         */
        get: operations["get /v1/memory/procedural/context"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/task-context": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Store Task Context
         * @description Store delegated work (201), or replace it (200). A sub-task given as its id keeps its status and result.
         */
        post: operations["post /v1/memory/task-context"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/task-context/by-subtask/{sub_task_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Task By Subtask
         * @description Return the task that waits for a sub-task.
         */
        get: operations["get /v1/memory/task-context/by-subtask/{sub_task_id}"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/task-context/{task_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Task Context
         * @description Return a task context.
         */
        get: operations["get /v1/memory/task-context/{task_id}"];
        /**
         * Update Task Context
         * @description Change the fields that are given; others stay. A sub-task given as its id keeps its status and result.
         */
        put: operations["put /v1/memory/task-context/{task_id}"];
        post?: never;
        /**
         * Delete Task Context
         * @description Delete a task context.
         */
        delete: operations["delete /v1/memory/task-context/{task_id}"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/task-context/{task_id}/sub-tasks/{sub_task_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Put Sub Task
         * @description Add a sub-task or record its result, in one transaction: concurrent changes are not lost.
         */
        put: operations["put /v1/memory/task-context/{task_id}/sub-tasks/{sub_task_id}"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/plan-context": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Store Plan Context
         * @description Store the state machine of a plan. Creates the plan if it does not exist (201); otherwise, fields that are not given stay (200).
         */
        post: operations["post /v1/memory/plan-context"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/plan-context/by-correlation/{correlation_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Plan By Correlation
         * @description Return the plan that waits for a correlation id.
         */
        get: operations["get /v1/memory/plan-context/by-correlation/{correlation_id}"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/plan-context/{plan_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Plan Context
         * @description Return the state machine of a plan.
         */
        get: operations["get /v1/memory/plan-context/{plan_id}"];
        /**
         * Update Plan Context
         * @description Change the fields that are given; others stay.
         */
        put: operations["put /v1/memory/plan-context/{plan_id}"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/plans": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Plans
         * @description List plans, newest first; `active` means running or paused. `X-Next-Cursor` has the cursor of the next page.
         */
        get: operations["get /v1/memory/plans"];
        put?: never;
        /**
         * Create Plan
         * @description Create a plan.
         */
        post: operations["post /v1/memory/plans"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/plans/{plan_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Plan
         * @description Return a plan.
         */
        get: operations["get /v1/memory/plans/{plan_id}"];
        /**
         * Update Plan
         * @description Change the fields that are given; others stay.
         */
        put: operations["put /v1/memory/plans/{plan_id}"];
        post?: never;
        /**
         * Delete Plan
         * @description Delete a plan with its sub-plans, task contexts and working memory.
         */
        delete: operations["delete /v1/memory/plans/{plan_id}"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Sessions
         * @description List sessions, newest first. `X-Next-Cursor` has the cursor of the next page.
         */
        get: operations["get /v1/memory/sessions"];
        put?: never;
        /**
         * Create Session
         * @description Create a session.
         */
        post: operations["post /v1/memory/sessions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/sessions/{session_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Session
         * @description Return a session.
         */
        get: operations["get /v1/memory/sessions/{session_id}"];
        /**
         * Update Session
         * @description Change the fields that are given. Without fields, only the last interaction is updated.
         */
        put: operations["put /v1/memory/sessions/{session_id}"];
        post?: never;
        /**
         * Delete Session
         * @description Delete a session; its plans stay.
         */
        delete: operations["delete /v1/memory/sessions/{session_id}"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/spaces": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Spaces
         * @description List the spaces that the caller is a member of, by id. `after`: the last space of the previous page.
         */
        get: operations["get /v1/spaces"];
        put?: never;
        /**
         * Create Space
         * @description Create a space. The caller becomes its first curator.
         */
        post: operations["post /v1/spaces"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/spaces/{space_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Space
         * @description Return a space with its members, for members.
         */
        get: operations["get /v1/spaces/{space_id}"];
        put?: never;
        post?: never;
        /**
         * Erase Space
         * @description Erase a space: rows, vectors, state, and the contents of events. Returns a counted receipt. For curators.
         */
        delete: operations["delete /v1/spaces/{space_id}"];
        options?: never;
        head?: never;
        /**
         * Update Space
         * @description Change the title, or archive the space: then it can be read and not written. For curators.
         */
        patch: operations["patch /v1/spaces/{space_id}"];
        trace?: never;
    };
    "/v1/spaces/{space_id}/members/{member_type}/{member_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Set Space Member
         * @description Add a member, or change the role of one. For curators.
         */
        put: operations["put /v1/spaces/{space_id}/members/{member_type}/{member_id}"];
        post?: never;
        /**
         * Remove Space Member
         * @description Remove a member, who sees nothing of the space from then on. For curators; anyone may remove themselves.
         */
        delete: operations["delete /v1/spaces/{space_id}/members/{member_type}/{member_id}"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{memory_id}/readers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Readers
         * @description Return who may read a memory, and why. Administrators also see the keys that can.
         */
        get: operations["get /v1/memories/{memory_id}/readers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{memory_id}/share": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Share Memory
         * @description Store a copy of a memory in a space, or for another agent of the same user: 201, or 200 if it is there already. `metadata.shared_from` of the copy names the original.
         */
        post: operations["post /v1/memories/{memory_id}/share"];
        /**
         * Unshare Memory
         * @description Forget the copy of a memory in a space, or for an agent. The original stays.
         */
        delete: operations["delete /v1/memories/{memory_id}/share"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/spaces": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Tenant Spaces
         * @description List all spaces of the tenant by id. `after`: the last space of the previous page.
         */
        get: operations["get /v1/admin/spaces"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/transcripts/{app}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Transcripts
         * @description List the user's transcripts in an app, least recently used first.
         */
        get: operations["get /v1/transcripts/{app}"];
        put?: never;
        /**
         * Create Transcript
         * @description Create a transcript. 409 if its id is taken.
         */
        post: operations["post /v1/transcripts/{app}"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/transcripts/{app}/{transcript_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Transcript
         * @description Return a transcript with its entries, oldest first; `next_after` continues the list.
         */
        get: operations["get /v1/transcripts/{app}/{transcript_id}"];
        put?: never;
        post?: never;
        /**
         * Delete Transcript
         * @description Delete a transcript and its state at once, also from the log. The states of the user and the app stay.
         */
        delete: operations["delete /v1/transcripts/{app}/{transcript_id}"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/transcripts/{app}/{transcript_id}/entries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Append To Transcript
         * @description Append entries and set state keys, in one transaction. 409 if others wrote since `expected_version`.
         */
        post: operations["post /v1/transcripts/{app}/{transcript_id}/entries"];
        /**
         * Clear Transcript
         * @description Delete all entries, also from the log. The transcript and its state stay.
         */
        delete: operations["delete /v1/transcripts/{app}/{transcript_id}/entries"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/transcripts/{app}/{transcript_id}/entries/last": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove Last Entry
         * @description Remove and return the last entry, in one transaction, so that no two callers get the same one. Also removes it from the log.
         */
        delete: operations["delete /v1/transcripts/{app}/{transcript_id}/entries/last"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apps/{app}/state": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get App State
         * @description Return the state of an app for the user and for all users, apart from transcripts.
         */
        get: operations["get /v1/apps/{app}/state"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/transcripts/{app}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List All Transcripts
         * @description List the transcripts of all users of the tenant in an app, user by user.
         */
        get: operations["get /v1/admin/transcripts/{app}"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/graph/entities": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Entities
         * @description List entities, newest first.
         */
        get: operations["get /v1/graph/entities"];
        put?: never;
        /**
         * Add Entity
         * @description Store an entity: 201 if it is new, 200 if one of its type and name existed.
         */
        post: operations["post /v1/graph/entities"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/graph/entities/{entity_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Entity
         * @description Return one entity, even if it was merged into another.
         */
        get: operations["get /v1/graph/entities/{entity_id}"];
        put?: never;
        post?: never;
        /**
         * Delete Entity
         * @description Delete an entity with its edges; with `hard`, permanently, also from the log.
         */
        delete: operations["delete /v1/graph/entities/{entity_id}"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/graph/entities/{entity_id}/relations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Relations
         * @description List the edges of an entity, by its id or name, oldest first.
         */
        get: operations["get /v1/graph/entities/{entity_id}/relations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/graph/entities/{entity_id}/merge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Merge Entities
         * @description Merge another entity into this one, with its names, edges and mentions.
         */
        post: operations["post /v1/graph/entities/{entity_id}/merge"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/graph/entities/{entity_id}/unmerge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Unmerge Entity
         * @description Undo a merge: the merged entity is separate again.
         */
        post: operations["post /v1/graph/entities/{entity_id}/unmerge"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/graph/relations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Add Relation
         * @description Store an edge. The same edge with other properties closes the previous one.
         */
        post: operations["post /v1/graph/relations"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/graph/relations/{relation_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Delete Relation
         * @description Delete an edge; with `hard`, permanently, also from the log.
         */
        delete: operations["delete /v1/graph/relations/{relation_id}"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/graph/traverse": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Traverse
         * @description Return the entities reachable within some steps, or the paths that match a pattern.
         */
        post: operations["post /v1/graph/traverse"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/graph/shortest-path": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Shortest Path
         * @description Return the path with the fewest edges between two entities.
         */
        post: operations["post /v1/graph/shortest-path"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/graph/mentions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Mentions
         * @description List the memories that mention an entity, or the entities that a memory mentions.
         */
        get: operations["get /v1/graph/mentions"];
        put?: never;
        /**
         * Add Mention
         * @description Record that a memory mentions an entity.
         */
        post: operations["post /v1/graph/mentions"];
        /**
         * Remove Mention
         * @description Record that a memory does not mention an entity.
         */
        delete: operations["delete /v1/graph/mentions"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/graph/read": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Read Entities
         * @description Extract entities from your unread memories by rules; with `again`, from all memories.
         */
        post: operations["post /v1/graph/read"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/documents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Documents
         * @description List your own documents and those that the tenant shares, newest first. `under`: only sources with this prefix; `mine`: only your own.
         */
        get: operations["get /v1/documents"];
        put?: never;
        /**
         * Add Document
         * @description Add a document as multipart/form-data: the part `file`, and `document`, its attributes as JSON.
         *
         *     With an existing source, it becomes a new version.
         */
        post: operations["post /v1/documents"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/documents/{document_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Document
         * @description Return a document.
         */
        get: operations["get /v1/documents/{document_id}"];
        put?: never;
        post?: never;
        /**
         * Delete Document
         * @description Delete a document with the passages that no other document contains; with `hard`, also from the log.
         */
        delete: operations["delete /v1/documents/{document_id}"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/documents/{document_id}/text": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read Document
         * @description Return a range of the document's text; citations count its characters.
         */
        get: operations["get /v1/documents/{document_id}/text"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/documents/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Search Documents
         * @description Return the passages that best answer the query, each with its place and the text around it.
         */
        post: operations["post /v1/documents/search"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/databases": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Databases
         * @description List the databases that you may query, with their tables.
         */
        get: operations["get /v1/databases"];
        put?: never;
        /**
         * Add Database
         * @description Register tables of a database for queries. Its URL is encrypted and never shown again.
         */
        post: operations["post /v1/databases"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/databases/{name}/refresh": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Refresh Database
         * @description Read the tables of a database again.
         */
        post: operations["post /v1/databases/{name}/refresh"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/databases/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove Database
         * @description Remove a database and its credentials.
         */
        delete: operations["delete /v1/databases/{name}"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/query": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Query Data
         * @description Query in plain language: an LLM writes SQL, which passes the gate.
         */
        post: operations["post /v1/query"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/databases/{name}/query": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Query Sql
         * @description Query one database, in SQL that passes the gate or in plain language.
         */
        post: operations["post /v1/databases/{name}/query"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/queries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Queries
         * @description List your database queries, newest first; an administrator may name another user.
         */
        get: operations["get /v1/queries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Tools
         * @description List the tools by name; with `query`, the best ones, best first.
         */
        get: operations["get /v1/tools"];
        put?: never;
        /**
         * Add Tool
         * @description Register a tool for agents: its purpose, when to use it, its input.
         */
        post: operations["post /v1/tools"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/openapi": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Import Tools
         * @description Register each operation of an OpenAPI 3 document as a tool; references may only point inside the document.
         */
        post: operations["post /v1/openapi"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tools/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove Tool
         * @description Remove a tool.
         */
        delete: operations["delete /v1/tools/{name}"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/providers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Providers
         * @description List all providers, with their capabilities and state.
         */
        get: operations["get /v1/providers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/providers/markdown/append": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Append Markdown
         * @description Add a text to the Markdown memory. Returns the new entries.
         */
        post: operations["post /v1/providers/markdown/append"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/providers/{provider_id}/entries/{entry_key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read Entry
         * @description Return the value of a provider under a key.
         */
        get: operations["get /v1/providers/{provider_id}/entries/{entry_key}"];
        /**
         * Write Entry
         * @description Store a value with a provider.
         */
        put: operations["put /v1/providers/{provider_id}/entries/{entry_key}"];
        post?: never;
        /**
         * Delete Entry
         * @description Delete a key from a provider.
         */
        delete: operations["delete /v1/providers/{provider_id}/entries/{entry_key}"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/providers/{provider_id}/rebuild": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rebuild Provider
         * @description Have a provider rebuild its derived data for this user.
         */
        post: operations["post /v1/providers/{provider_id}/rebuild"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Events
         * @description List events after a number, oldest first: your own, and those of memories that others share. Large events shorten the page; continue until it is empty.
         */
        get: operations["get /v1/events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/events/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Verify Events
         * @description Compare the tenant's rows with its events, byte by byte, and verify the chain of its log.
         */
        get: operations["get /v1/admin/events/verify"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/events/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Replay Events
         * @description Count the rows of each table according to the tenant's events, up to a time.
         */
        get: operations["get /v1/admin/events/replay"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/events/retire": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retire Events
         * @description Remove old events of all tenants that replay does not need. For operators.
         */
        post: operations["post /v1/admin/events/retire"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Webhooks
         * @description List the tenant's webhooks, newest first, without their secrets.
         */
        get: operations["get /v1/admin/webhooks"];
        put?: never;
        /**
         * Add Webhook
         * @description Send the tenant's events to a URL, signed. The answer contains the secret, which is shown only once.
         */
        post: operations["post /v1/admin/webhooks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/webhooks/{webhook_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove Webhook
         * @description Delete a webhook.
         */
        delete: operations["delete /v1/admin/webhooks/{webhook_id}"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/webhooks/{webhook_id}/failures": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Webhook Failures
         * @description List dead letters: events that the receiver did not accept after all attempts.
         */
        get: operations["get /v1/admin/webhooks/{webhook_id}/failures"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/webhooks/{webhook_id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retry Webhook
         * @description Send the dead letters again, and all events after the first of them.
         */
        post: operations["post /v1/admin/webhooks/{webhook_id}/retry"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/events/links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Event Links
         * @description List the chain of the tenant's log after a number: hashes, and with `contents` what they are made of. Large events shorten the page; continue until it is empty.
         */
        get: operations["get /v1/admin/events/links"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/events/chain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Verify Chain
         * @description Verify the chain of the tenant's log, and that it contains anchors that were written earlier.
         */
        post: operations["post /v1/admin/events/chain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/events/head": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Chain Head
         * @description Return the head of the tenant's chain, to be written outside of the database.
         */
        get: operations["get /v1/admin/events/head"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/certificates/key": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Certificate Key
         * @description Return the public key that signs certificates of erasures.
         */
        get: operations["get /v1/admin/certificates/key"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Operations
         * @description List the changes of background jobs to the tenant, newest first: names and counts.
         */
        get: operations["get /v1/operations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operations/{operation_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Operation
         * @description Return one operation, with its changes to your own memories.
         */
        get: operations["get /v1/operations/{operation_id}"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operations/{operation_id}/undo": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Undo Operation
         * @description Undo an operation for the whole tenant. Rows changed since stay as they are.
         */
        post: operations["post /v1/operations/{operation_id}/undo"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Jobs
         * @description Count the jobs in the worker's queue. For operators.
         */
        get: operations["get /v1/admin/jobs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/jobs/held": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Held Jobs
         * @description List dead letters: jobs that failed after all attempts. For operators.
         */
        get: operations["get /v1/admin/jobs/held"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/jobs/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retry Jobs
         * @description Queue one dead letter again, or all of them. Returns their number. For operators.
         */
        post: operations["post /v1/admin/jobs/retry"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inbox": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Inbox
         * @description List your memories that wait for a decision, newest first.
         */
        get: operations["get /v1/inbox"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inbox/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Count Inbox
         * @description Count your memories that wait for a decision, by reason.
         */
        get: operations["get /v1/inbox/count"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inbox/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Approve Held
         * @description Let memories out of the inbox, so that they are found. You can undo the operation.
         */
        post: operations["post /v1/inbox/approve"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inbox/drop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Drop Held
         * @description Forget memories that wait. You can undo the operation for 30 days.
         */
        post: operations["post /v1/inbox/drop"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inbox/sources": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Trusted Sources
         * @description List the sources whose memories do not wait.
         */
        get: operations["get /v1/inbox/sources"];
        put?: never;
        /**
         * Trust Source
         * @description Approve what waits from a source, and let its later memories in at once. You can undo the operation.
         */
        post: operations["post /v1/inbox/sources"];
        /**
         * Distrust Source
         * @description Trust a source no longer: its later memories may wait again.
         */
        delete: operations["delete /v1/inbox/sources"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{memory_id}/why": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Why
         * @description Return what a memory came from, with speakers and times, and what changed it.
         */
        get: operations["get /v1/memories/{memory_id}/why"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{memory_id}/why-not": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Why Not
         * @description Return the step at which a question lost a memory, and by how much.
         */
        post: operations["post /v1/memories/{memory_id}/why-not"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/requests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Requests
         * @description List your own recalls and contexts, newest first. Administrators may name another user, or list those of all users.
         */
        get: operations["get /v1/requests"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/requests/{request_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Request
         * @description Return one recall or context, with the ids of the memories that it returned.
         */
        get: operations["get /v1/requests/{request_id}"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/insights": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Insights
         * @description Return statistics of your memories: totals, growth, use, expected decay, junk, storage, index lag.
         */
        get: operations["get /v1/insights"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/insights/junk": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Audit Junk
         * @description Return what a promotion run would promote now, and its share of small talk and mere questions.
         */
        get: operations["get /v1/insights/junk"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Keys
         * @description List the tenant's keys, newest first, without their secrets.
         */
        get: operations["get /v1/admin/keys"];
        put?: never;
        /**
         * Make Key
         * @description Create a key. The answer contains the secret, which is shown only once.
         */
        post: operations["post /v1/admin/keys"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/tenants/{tenant_id}/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Tenant Keys
         * @description List the keys of your own tenant, or of any tenant as operator, newest first, without their secrets.
         */
        get: operations["get /v1/admin/tenants/{tenant_id}/keys"];
        put?: never;
        /**
         * Make Tenant Key
         * @description Create a key of your own tenant. Operators can create one for any tenant, including the first of a new one.
         */
        post: operations["post /v1/admin/tenants/{tenant_id}/keys"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/keys/{key_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke Key
         * @description Revoke a key: immediately on this server, within 10 seconds on others.
         */
        delete: operations["delete /v1/admin/keys/{key_id}"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/tenants/{tenant_id}/keys/{key_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke Tenant Key
         * @description Revoke a key of your own tenant, or of any tenant as operator.
         */
        delete: operations["delete /v1/admin/tenants/{tenant_id}/keys/{key_id}"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/tenants/{tenant_id}/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Tenant Users
         * @description List the users of your own tenant, or of any tenant as operator, by id. `after`: the last user of the previous page.
         */
        get: operations["get /v1/admin/tenants/{tenant_id}/users"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/tenants/{tenant_id}/users/{user_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Erase Tenant User
         * @description Erase a user of your own tenant, or of any tenant as operator, as `DELETE /v1/admin/users/{user_id}` does.
         */
        delete: operations["delete /v1/admin/tenants/{tenant_id}/users/{user_id}"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/users/{user_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Erase User
         * @description Erase a user of the tenant: rows, vectors, state, keys, and the contents of events. Returns a counted receipt.
         */
        delete: operations["delete /v1/admin/users/{user_id}"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/tenants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Tenants
         * @description List tenants by id, with their usage. For operators.
         */
        get: operations["get /v1/admin/tenants"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/tenants/{tenant_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Set Quota
         * @description Set the quota of a tenant. For operators.
         */
        put: operations["put /v1/admin/tenants/{tenant_id}"];
        post?: never;
        /**
         * Erase Tenant
         * @description Erase your own tenant, or any tenant as operator: every row of every user, the log and the keys.
         */
        delete: operations["delete /v1/admin/tenants/{tenant_id}"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/costs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Costs
         * @description Return what models cost the tenant, by day, job or model: calls, tokens, seconds, money, and its budgets. Operators can ask for another tenant, or for all, also by tenant.
         */
        get: operations["get /v1/admin/costs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Stream Events
         * @description Stream events as they happen, as server-sent events.
         *
         *     `Last-Event-ID` (or `after`) resumes; without it the stream begins with new events.
         */
        get: operations["get /v1/events/stream"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export
         * @description Export the tenant's data, or one user's, as JSON lines.
         */
        get: operations["get /v1/admin/export"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/tenants/{tenant_id}/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export Tenant
         * @description Export the data of your own tenant, or of any tenant as operator, or of one user, as JSON lines.
         */
        get: operations["get /v1/admin/tenants/{tenant_id}/export"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/spaces/{space_id}/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export Space
         * @description Export a space with its members as JSON lines, which an administrator can import. For curators.
         */
        get: operations["get /v1/spaces/{space_id}/export"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Import Data
         * @description Import the JSON lines of an export into the tenant, with their ids.
         *
         *     Existing data stays as it is. With `dry_run` nothing is stored: the response says what would be stored.
         */
        post: operations["post /v1/admin/import"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * @description The head of a tenant's chain at a time: the number and hash of its newest event.
         *
         *     `timestamp_response`: the answer of an RFC 3161 time stamp authority about the line without it, in base64.
         */
        Anchor: {
            tenant_id: string;
            sequence: number;
            hash: string;
            /** Format: date-time */
            time: string;
            timestamp_response?: string | null;
        };
        /** @description An app's state outside its transcripts: of the user, and of all users. */
        AppState: {
            app: string;
            user_state: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            shared_state: {
                [key: string]: components["schemas"]["JsonValue"];
            };
        };
        /** @description A text for the pipeline of the Markdown memory. */
        AppendText: {
            text: string;
        };
        /** @description A transcript's position after a write. `appended`: the number of new entries. */
        Appended: {
            app: string;
            transcript_id: string;
            entry_count: number;
            appended: number;
            version: number;
            /** Format: date-time */
            updated_at: string;
        };
        /** @description Append `value` to a list. A missing value starts as a list. */
        AtomicAppend: {
            plan_id: string;
            path: string;
            /** @default false */
            whole?: boolean;
            /**
             * @description A key created by this belongs to the workflow: clearing the workflow removes it.
             * @default false
             */
            workflow?: boolean;
            value: components["schemas"]["JsonValue"];
        };
        /** @description Append all `values` to a list, next to each other. A missing value starts as a list. */
        AtomicExtend: {
            plan_id: string;
            path: string;
            /** @default false */
            whole?: boolean;
            /**
             * @description A key created by this belongs to the workflow: clearing the workflow removes it.
             * @default false
             */
            workflow?: boolean;
            values: components["schemas"]["JsonValue"][];
        };
        /** @description Add `delta` to a number. A missing value starts as 0. */
        AtomicIncrement: {
            plan_id: string;
            path: string;
            /** @default false */
            whole?: boolean;
            /**
             * @description A key created by this belongs to the workflow: clearing the workflow removes it.
             * @default false
             */
            workflow?: boolean;
            /** @default 1 */
            delta?: number;
        };
        /** @description Set the entries of an object that `changes` names; its others stay. A missing value starts as an object. */
        AtomicMerge: {
            plan_id: string;
            path: string;
            /** @default false */
            whole?: boolean;
            /**
             * @description A key created by this belongs to the workflow: clearing the workflow removes it.
             * @default false
             */
            workflow?: boolean;
            changes: {
                [key: string]: components["schemas"]["JsonValue"];
            };
        };
        /** @description The value at `path` after a change, and the version of the whole key. */
        AtomicResult: {
            plan_id: string;
            path: string;
            key: string;
            value: components["schemas"]["JsonValue"];
            version: number;
        };
        /** @description A memory, with what it came from, what happened to it, and the jobs and decisions that changed it. */
        Belief: {
            memory: components["schemas"]["Memory"];
            /** @enum {string} */
            trust: "user" | "agent" | "shared" | "document" | "tool";
            evidence: components["schemas"]["Evidence"][];
            events: components["schemas"]["Event"][];
            operations: components["schemas"]["Operation"][];
        };
        /**
         * @description A budget, what is used of it since `starts_on`, and the day on which it begins anew.
         *
         *     `amount` and `used` are tokens, or money in the currency of the prices.
         */
        BudgetState: {
            budget: string;
            used: number;
            amount: number;
            /** @enum {string} */
            level: "within" | "warned" | "reached";
            /** Format: date */
            starts_on: string;
            /** Format: date */
            resets_on: string;
        };
        /** @description A signed statement about an erasure. `signature`: Ed25519 over the bytes of `statement`; both in base64. */
        Certificate: {
            statement: string;
            key: string;
            signature: string;
        };
        /** @description The public key of this installation, in base64, which signs its certificates. */
        CertificateKey: {
            key: string;
        };
        /** @description The first event at which a chain is broken. */
        ChainBreak: {
            sequence: number;
            /** @enum {string} */
            problem: "missing" | "not linked" | "outside the chain" | "contents changed" | "contents removed without a record" | "head differs" | "removed without a record" | "kept events differ" | "anchor differs" | "older than an anchor";
        };
        /** @description Anchors that the chain must contain. Those of other tenants are ignored. */
        ChainQuery: {
            anchors: components["schemas"]["Anchor"][];
        };
        /**
         * @description The result of verifying a tenant's chain.
         *
         *     `first`: the first event of the chain that is stored; `hash`: of the event `last`; `older`: events from before the
         *     chain; `redacted`: events whose contents were erased; `retired_through`: up to here, retention keeps some events
         *     only; `anchors`: confirmed ones; `anchors_retired`: anchors whose event is no longer stored.
         */
        ChainVerification: {
            tenant_id: string;
            intact: boolean;
            first: number | null;
            last: number;
            hash: string | null;
            events: number;
            older: number;
            redacted: number;
            retired_through: number;
            anchors: number;
            anchors_retired: number;
            broken?: components["schemas"]["ChainBreak"] | null;
        };
        /**
         * @description The place of a passage: characters `start` to `end` of the document's text. `page`: the page on which the
         *     answering sentence begins.
         */
        Citation: {
            /** Format: uuid */
            document_id: string;
            title: string;
            source?: string | null;
            /** @default [] */
            headings?: string[];
            page?: number | null;
            start: number;
            end: number;
        };
        /** @description One line of a section. `memory_id` is None for lines that are not memories: notes of the session, and sources. */
        ContextItem: {
            memory_id?: string | null;
            text: string;
            tokens: number;
            score?: number | null;
            /** @default true */
            trusted?: boolean;
        };
        /**
         * @description A question, its conversation, and the token budget of the context.
         *
         *     `spaces`: as in a recall. `timezone`: "yesterday" is the day before today there; KEEPS_TIMEZONE if not given.
         */
        ContextRequest: {
            query: string;
            session_id?: string | null;
            /** @default 4000 */
            budget_tokens?: number;
            min_relevance?: number | null;
            agent_id?: string | null;
            spaces?: string[] | null;
            sections?: ("session" | "long_term" | "temporal" | "conversations" | "activity" | "skills" | "knowledge" | "documents")[] | null;
            /** @description Where the user lives, such as Europe/Berlin, or a UTC offset such as +02:00 */
            timezone?: string | null;
            /** @default false */
            explain?: boolean;
        };
        /**
         * @description Markdown for the prompt, and how it was built.
         *
         *     `text` has `tokens` of `budget_tokens`, counted by `tokenizer`, in `sections`. `signals`: what the question asks for
         *     beyond its words. `nothing_known`: probably no memory answers the question; then the text says so and contains only
         *     the few nearest. `sources_ms`: how long each source took; `router_ms` the rest. `degraded`: some source failed or
         *     was too slow (named in `degraded_sources`), so something may be missing. `left_out` (at most 50): what neither
         *     `text` nor `stable` contains.
         *
         *     `stable` and `volatile` are two parts, together within the budget. `stable` has the user's identity, the most
         *     important memories, instructions and sources, identical to the byte until something is written; `volatile` has what
         *     else this question found. Put `stable` before the conversation and `volatile` at its end, so that the model
         *     provider's prompt cache stays valid. `stable_items` are the lines of `stable`. A prompt with both takes
         *     `stable_tokens` + `volatile_tokens`.
         */
        ContextResult: {
            text: string;
            /** @default  */
            stable?: string;
            /** @default 0 */
            stable_tokens?: number;
            /** @default [] */
            stable_items?: components["schemas"]["ContextItem"][];
            /** @default  */
            volatile?: string;
            /** @default 0 */
            volatile_tokens?: number;
            tokens: number;
            budget_tokens: number;
            tokenizer: string;
            signals: string[];
            since?: string | null;
            until?: string | null;
            sections: components["schemas"]["ContextSection"][];
            left_out: components["schemas"]["LeftOut"][];
            sources_ms: {
                [key: string]: number;
            };
            router_ms: number;
            took_ms: number;
            /** @default false */
            nothing_known?: boolean;
            degraded: boolean;
            degraded_sources: string[];
        };
        /** @description A part of the context. `share_tokens`: its share of the budget, before unused tokens are redistributed. */
        ContextSection: {
            /** @enum {string} */
            name: "session" | "long_term" | "temporal" | "conversations" | "activity" | "skills" | "knowledge" | "documents";
            title: string;
            tokens: number;
            share_tokens: number;
            items: components["schemas"]["ContextItem"][];
        };
        /**
         * @description The use of models on a day, for a job, by a model or for a tenant.
         *
         *     `failed` calls are among `calls`, with those that were sent again. `model` is "" where an earlier release counted
         *     tokens alone. `cost`: by the prices of the settings; None if no model has one.
         */
        CostLine: {
            name: string;
            calls: number;
            failed: number;
            prompt_tokens: number;
            completion_tokens: number;
            seconds: number;
            cost?: number | null;
        };
        /**
         * @description The costs of models from the day `since` to the day `until` (UTC).
         *
         *     `tenant_id`: None for all tenants. `llm`: the model of the LLM, None without one. `unpriced`: models whose tokens
         *     have no price, so that no `cost` has them. `budgets`: those of the tenant, or of the installation; they have periods
         *     of their own.
         */
        Costs: {
            tenant_id: string | null;
            /** Format: date */
            since: string;
            /** Format: date */
            until: string;
            /** @enum {string} */
            by: "day" | "job" | "model" | "tenant";
            lines: components["schemas"]["CostLine"][];
            total: components["schemas"]["CostLine"];
            budgets: components["schemas"]["BudgetState"][];
            unpriced: string[];
            llm: string | null;
        };
        /**
         * @description A question in plain language. `database`: its name; default: the one that fits. `remember`: store the answer as
         *     a memory, with its time.
         */
        DataQuestion: {
            question: string;
            database?: string | null;
            /** @default false */
            remember?: boolean;
        };
        DatabaseColumn: {
            name: string;
            type: string;
            comment?: string | null;
            /** @default false */
            key?: boolean;
            /** @default [] */
            samples?: string[];
        };
        /**
         * @description A database that may be queried. `location`: its address without credentials; `warnings`: unnecessary privileges
         *     of its role.
         */
        DatabaseInfo: {
            /** Format: uuid */
            database_id: string;
            tenant_id: string;
            name: string;
            /** @enum {string} */
            dialect: "postgresql" | "sqlite" | "mysql";
            location: string;
            purpose: string;
            /** @enum {string} */
            asked_by: "reader" | "writer" | "admin";
            tables: components["schemas"]["DatabaseTable"][];
            /** @default [] */
            warnings?: string[];
            /** Format: date-time */
            described_at: string;
            created_by: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            version: number;
        };
        /** @description A query to one database: SQL, or a question in plain language. */
        DatabaseQuery: {
            sql?: string | null;
            question?: string | null;
            /** @default false */
            remember?: boolean;
        };
        DatabaseReference: {
            columns: string[];
            table: string;
            to: string[];
        };
        DatabaseRemoved: {
            name: string;
            /** @default true */
            removed?: boolean;
        };
        /** @description A table that may be queried, as its server describes it. `whole`: all of its columns may be queried. */
        DatabaseTable: {
            name: string;
            database_schema?: string | null;
            /** @default true */
            default?: boolean;
            /** @default false */
            whole?: boolean;
            comment?: string | null;
            columns: components["schemas"]["DatabaseColumn"][];
            /** @default [] */
            references?: components["schemas"]["DatabaseReference"][];
        };
        /** @description The number of short-term memories that fade within so many days unless they are read, and that have faded. */
        Decay: {
            within_a_day: number;
            within_a_week: number;
            within_a_month: number;
            archived: number;
        };
        /** @description Remove an item now, also from the log; a missing one is no error. */
        DeleteItem: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            op: "delete";
            namespace: string[];
            key: string;
        };
        /** @description The result of a deletion: true if something was deleted. */
        Deleted: {
            /** @default true */
            success?: boolean;
            /** @default true */
            deleted?: boolean;
            message: string;
        };
        /**
         * @description A row that differs from its events, or a gap in the log.
         *
         *     `row` names it by its key, a gap by its first and last number; contents are never shown.
         */
        Difference: {
            table: string;
            row: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            problem: string;
            columns: string[];
        };
        /**
         * @description A document as it is stored. `characters` and the places of passages are those of its text; `sha256` is of the
         *     file's bytes, in hexadecimal.
         */
        Document: {
            /** Format: uuid */
            document_id: string;
            tenant_id: string;
            user_id: string;
            agent_id?: string | null;
            title: string;
            source?: string | null;
            format: string;
            sha256: string;
            metadata: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            tags: string[];
            /** @enum {string} */
            visibility: "private" | "tenant";
            passage_tokens?: number | null;
            pages: number;
            pages_without_text: number;
            characters: number;
            passages: number;
            version: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            deleted_at?: string | null;
        };
        /** @description The result of a deletion: removed passages, and those that stay because another document has them. */
        DocumentDeleted: {
            /** Format: uuid */
            document_id: string;
            removed: number;
            kept: number;
        };
        /** @description A passage that answers, its places (the best first), and the passages around it. */
        DocumentHit: {
            /** Format: uuid */
            memory_id: string;
            content: string;
            score: number;
            relevance?: number | null;
            citations: components["schemas"]["Citation"][];
            before?: string | null;
            after?: string | null;
        };
        /** @description Passages, best first. `nothing_known`: probably none of them answers the question. */
        DocumentHits: {
            hits: components["schemas"]["DocumentHit"][];
            /** @default false */
            nothing_known?: boolean;
        };
        /**
         * @description The result of adding a document.
         *
         *     - `stored`: new passages.
         *     - `known`: passages that existed, also in other documents.
         *     - `removed`: passages that no document contains any more.
         *     - `hidden`: characters that are in the file but not shown, which are left out.
         */
        DocumentReceipt: {
            /** @enum {string} */
            status: "created" | "updated" | "unchanged";
            document: components["schemas"]["Document"];
            /** @default 0 */
            stored?: number;
            /** @default 0 */
            known?: number;
            /** @default 0 */
            removed?: number;
            /** @default 0 */
            hidden?: number;
            /** @default [] */
            notes?: string[];
        };
        DocumentSearch: {
            query: string;
            /** @default 10 */
            limit?: number;
            /** @default [] */
            tags?: string[];
        };
        /**
         * @description A range of a document's text. `characters`: the length of the whole text. `passages`: those that overlap
         *     it, in order.
         */
        DocumentText: {
            /** Format: uuid */
            document_id: string;
            start: number;
            text: string;
            characters: number;
            /** @default [] */
            passages?: components["schemas"]["PassagePlace"][];
        };
        /** @description A node with a name. `source`: its creator; `merged_into`: the entity that it was merged into. */
        Entity: {
            /** Format: uuid */
            entity_id: string;
            tenant_id: string;
            user_id: string;
            name: string;
            entity_type: string;
            aliases: string[];
            properties: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            /** @enum {string} */
            visibility: "private" | "tenant";
            /** @enum {string} */
            source: "user" | "text" | "llm";
            merged_into?: string | null;
            version: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            deleted_at?: string | null;
        };
        /** @description The value stored under a key of a provider. */
        Entry: {
            key: string;
            value: components["schemas"]["JsonValue"];
            metadata?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            updated_at?: string | null;
        };
        /**
         * @description An interaction; in a search, `score` (how likely it answers, 0 to 1) and `similarity` (cosine, None without
         *     vectors).
         */
        EpisodicItem: {
            id: string;
            tenant_id: string;
            user_id: string;
            agent_id?: string | null;
            role?: ("user" | "assistant" | "system" | "tool") | null;
            content: string;
            metadata: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            /** Format: date-time */
            created_at: string;
            score?: number | null;
            similarity?: number | null;
        };
        /**
         * @description The result of an erasure: removed rows by table, and `remaining`, counted afterwards.
         *
         *     `certificate`: a signed statement of it, where the installation has a key to sign with.
         */
        ErasureReceipt: {
            tenant_id: string;
            user_id?: string | null;
            removed: {
                [key: string]: number;
            };
            events_redacted: number;
            remaining: {
                [key: string]: number;
            };
            complete: boolean;
            /** Format: date-time */
            erased_at: string;
            certificate?: components["schemas"]["Certificate"] | null;
        };
        /** @description One thing that happened. `sequence` counts up within a tenant, in the order of commits, without gaps. */
        Event: {
            /**
             * @default 1.0
             * @constant
             */
            specversion?: "1.0";
            /** Format: uuid */
            id: string;
            source: string;
            type: string;
            subject: string;
            /** Format: date-time */
            time: string;
            /**
             * @default application/json
             * @constant
             */
            datacontenttype?: "application/json";
            data: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            tenantid: string;
            userid: string;
            agentid?: string | null;
            actorid?: string | null;
            sequence: number;
            traceparent?: string | null;
        };
        /**
         * @description The part of an event that redaction can change.
         *
         *     `data` is its JSON as PostgreSQL writes it, since the text is hashed.
         */
        EventContents: {
            salt: string;
            subject: string;
            user_id: string;
            agent_id: string | null;
            visibility: string;
            traceparent: string | null;
            data: string;
        };
        /**
         * @description An event of the chain. Hashes are hexadecimal; without `previous_hash` it is older than the chain.
         *
         *     `contents_hash` is the hash of the contents as they were written; those of a redacted event are gone.
         */
        EventLink: {
            tenant_id: string;
            sequence: number;
            /** Format: uuid */
            event_id: string;
            type: string;
            source: string;
            /** Format: date-time */
            time: string;
            /** Format: date-time */
            recorded_at: string;
            contents_hash: string | null;
            previous_hash: string | null;
            redacted: boolean;
            contents?: components["schemas"]["EventContents"] | null;
        };
        /**
         * @description A memory that another one came from.
         *
         *     `how`: the message of a fact, a source of a summary, a duplicate that was merged, an older version, or a message of
         *     the summarised conversation. `depth`: 1 for what the memory itself came from, 2 for what that came from, and so on.
         *     `memory` and `trust` are None if it was deleted.
         */
        Evidence: {
            /** Format: uuid */
            memory_id: string;
            /** @enum {string} */
            how: "message" | "source" | "merged" | "older" | "conversation";
            depth: number;
            memory?: components["schemas"]["Memory"] | null;
            trust?: ("user" | "agent" | "shared" | "document" | "tool") | null;
        };
        /**
         * @description The result of an exchange: receipts for each message, in order, and for each fact found; and the notes.
         *
         *     `recalled`: the number of messages that only repeated a context of Keeps and were not stored again (`unchanged`).
         */
        ExchangeReceipt: {
            session_id: string;
            messages: components["schemas"]["Receipt"][];
            facts: components["schemas"]["Receipt"][];
            recalled: number;
            notes: components["schemas"]["SessionNotes"];
        };
        /**
         * @description The parts of the score of a hit.
         *
         *     Each part is one arm or boost: `raw` is the measurement, `normalised` the value that is weighted (for an arm, its
         *     place between the worst candidate, 0, and the best, 1), `weight` its share, `points` its contribution to the score
         *     (weight times normalised). `matched_terms`: stems that the question and this memory share.
         */
        Explanation: {
            parts: components["schemas"]["Part"][];
            matched_terms?: string[];
        };
        /** @description A short-term memory that fades at `fades_at`, unless it is read first. */
        Fading: {
            /** Format: uuid */
            memory_id: string;
            content: string;
            /** Format: date-time */
            fades_at: string;
        };
        /** @description One item. `refresh_ttl`: restart its time to live. */
        GetItem: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            op: "get";
            namespace: string[];
            key: string;
            /** @default false */
            refresh_ttl?: boolean;
        };
        /** @description Memories that wait: all of them are decided, or none. */
        HeldIds: {
            memory_ids: string[];
        };
        /** @description A dead letter: a job that failed after all attempts and waits for `retry`. */
        HeldJob: {
            id: number;
            job: string;
            tenant_id: string;
            attempts: number;
            /** Format: date-time */
            failed_at: string;
        };
        /**
         * @description A memory that waits: nothing finds it until it is approved.
         *
         *     `held_for`: it gives instructions to a model, hides text, came in a flood, or contradicts a more trusted memory.
         *     `source`: the name by which all memories of its source can be trusted.
         */
        HeldMemory: {
            /** @enum {string} */
            held_for: "instructions" | "hidden_text" | "flood" | "contradiction" | "trusted_source";
            source: string;
            memory: components["schemas"]["Memory"];
        };
        /**
         * @description A memory that answers, best first. Scores compare within one answer, not between answers.
         *
         *     `relevance`, from 0 to 1, says how likely the memory answers the question; under 0.25 it may only be related.
         *     Without a vector it is the share of the question's words that the memory contains; None if a provider gives none.
         *     `similarity` is the cosine of their vectors, None without a vector.
         *     `newer_id`: a later statement among the hits, about the same matter, that may have changed this one.
         *     `passage`: of a memory of over 1,000 characters, the sentences that are nearest to the question.
         */
        Hit: {
            memory: components["schemas"]["Memory"];
            score: number;
            relevance?: number | null;
            similarity?: number | null;
            /** @default postgres */
            provider_id?: string;
            /**
             * @default indexed
             * @enum {string}
             */
            tier?: "working" | "persistent" | "indexed";
            explanation?: components["schemas"]["Explanation"] | null;
            passage?: components["schemas"]["Passage"] | null;
            newer_id?: string | null;
        };
        /**
         * @description The result of an import, by lines.
         *
         *     `unchanged`: lines that are already stored; `differs`: lines whose stored values differ and stay.
         */
        ImportSummary: {
            stored: number;
            unchanged: number;
            /** @default 0 */
            differs?: number;
            failed: number;
            errors: string[];
        };
        /** @description The number of memories that wait, up to 1,000, and of each reason. */
        InboxCount: {
            waiting: number;
            reasons: {
                [key: string]: number;
            };
        };
        /**
         * @description Statistics of your own memory. Counts are of current memories unless stated otherwise.
         *
         *     `growth_trend`: increasing, decreasing or steady, of the last four weeks against the four before. `junk_share`: the
         *     share of small talk and mere questions among promoted experiences. `index_pending` wait for a vector, the oldest for
         *     `index_lag_seconds`. `fading`: what fades within a week, the first 20. `storage` and `llm_tokens` (what an LLM cost,
         *     by job) are of the tenant, the last 30 days.
         */
        Insights: {
            total_memories: number;
            important_memories: number;
            by_kind: {
                [key: string]: number;
            };
            by_layer: {
                [key: string]: number;
            };
            by_namespace: {
                [key: string]: number;
            };
            common_tags: {
                [key: string]: number;
            };
            most_accessed_namespace: string | null;
            most_used: components["schemas"]["Used"][];
            never_used: number;
            growth: components["schemas"]["Week"][];
            growth_trend: string;
            decay: components["schemas"]["Decay"];
            fading: components["schemas"]["Fading"][];
            superseded: number;
            forgotten: number;
            stale: number;
            promoted: number;
            junk_share: number;
            index_pending: number;
            index_lag_seconds: number;
            storage: components["schemas"]["StorageSample"][];
            llm_tokens: {
                [key: string]: number;
            };
        };
        /**
         * @description A stored value; empty in a list of keys.
         *
         *     `score` is the cosine similarity in a search by meaning.
         */
        Item: {
            namespace: string[];
            key: string;
            value: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            version: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            score?: number | null;
        };
        /** @description Operations, run in order in one transaction, all or none. */
        ItemBatch: {
            operations: (components["schemas"]["GetItem"] | components["schemas"]["SearchItems"] | components["schemas"]["ListNamespaces"] | components["schemas"]["ListKeys"] | components["schemas"]["PutItem"] | components["schemas"]["DeleteItem"] | components["schemas"]["SweepItems"])[];
            /** @default true */
            omit_expired?: boolean;
        };
        /** @description Operations that change nothing but times to live. `omit_expired`: leave out expired items not yet removed. */
        ItemReads: {
            operations: (components["schemas"]["GetItem"] | components["schemas"]["SearchItems"] | components["schemas"]["ListNamespaces"] | components["schemas"]["ListKeys"])[];
            /** @default true */
            omit_expired?: boolean;
        };
        /**
         * @description The result of one operation: an item or none, items, namespaces, or the number of removed ones.
         *
         *     `more`: there are more items.
         */
        ItemResult: {
            item?: components["schemas"]["Item"] | null;
            items?: components["schemas"]["Item"][];
            namespaces?: string[][];
            /** @default 0 */
            removed?: number;
            /** @default false */
            more?: boolean;
        };
        /** @description One result for each operation, in order. */
        ItemResults: {
            results: components["schemas"]["ItemResult"][];
        };
        JsonValue: unknown;
        /**
         * @description The memories that a promotion run would promote now, and the share of junk in them and in earlier promotions.
         *
         *     `examples`: up to 10 texts of the asking user that were promoted and look like junk.
         */
        JunkAudit: {
            would_promote: number;
            would_promote_junk: number;
            promoted: number;
            promoted_junk: number;
            junk_share: number;
        };
        /** @description A key as it is listed: never the secret, only its last characters as `hint`. */
        KeyInfo: {
            /** Format: uuid */
            key_id: string;
            tenant_id: string;
            name: string;
            user_id?: string | null;
            agent_id?: string | null;
            roles: ("reader" | "writer" | "admin" | "operator")[];
            limits?: components["schemas"]["KeyLimits"] | null;
            hint: string;
            created_by: string;
            /** Format: date-time */
            created_at: string;
            expires_at?: string | null;
            last_used_at?: string | null;
            revoked_at?: string | null;
        };
        /**
         * @description The limits of a key beside its roles. The database enforces them.
         *
         *     `access`: "read" stores nothing; "append" adds memories and sees nothing. `spaces`: works in these spaces only, as
         *     far as its user is a member. `namespaces`, `kinds`: sees and stores only memories with one of these, and nothing
         *     else.
         */
        KeyLimits: {
            access?: ("read" | "append") | null;
            spaces?: string[] | null;
            namespaces?: string[] | null;
            kinds?: ("semantic" | "episodic" | "procedural")[] | null;
        };
        /** @description The number of changed keys. */
        KeysChanged: {
            changed: number;
        };
        /** @description A removal of `key` and the keys below it (`key/…`). */
        KeysForgotten: {
            namespace: string;
            key: string;
            /** @default false */
            hard?: boolean;
        };
        /** @description A move of `key` and the keys below it (`key/…`) to `to`. */
        KeysMoved: {
            namespace: string;
            key: string;
            to: string;
        };
        /**
         * @description A fact to store, or to replace one of your own that is at least `dedupe_threshold` similar (cosine) and has the
         *     same words, except for spelling, numbers, fillers and order. Similarity alone replaces nothing: "the left knee
         *     hurts" and "the right knee hurts" are 0.98 similar. `user_id` is ignored.
         */
        KnowledgeUpsert: {
            content: string;
            metadata?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            /** @default 0.95 */
            dedupe_threshold?: number;
            user_id?: string | null;
        };
        /** @description An item that was found but left out of the text, and why: near misses first. */
        LeftOut: {
            /** @enum {string} */
            section: "session" | "long_term" | "temporal" | "conversations" | "activity" | "skills" | "knowledge" | "documents";
            memory_id: string | null;
            tokens: number;
            /** @enum {string} */
            reason: "budget" | "duplicate" | "in_session" | "not_relevant";
            score?: number | null;
        };
        /**
         * @description The usage and fading of a memory.
         *
         *     `retention` falls from 1 (just used) to 0; under 0.3, at `fades_at`, the memory is archived unless it is recalled
         *     before. Both are None for memories that do not fade: long-term memories and knowledge.
         */
        Life: {
            access_count: number;
            last_accessed_at?: string | null;
            retention?: number | null;
            fades_at?: string | null;
        };
        /**
         * @description Keys in a namespace and below it, in order of namespace and key, without the values.
         *
         *     `after` is the namespace and the key of the last one of the previous page.
         */
        ListKeys: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            op: "keys";
            /** @default [] */
            prefix?: string[];
            after?: [
                string[],
                string
            ] | null;
            /** @default 100 */
            limit?: number;
        };
        /**
         * @description Namespaces with items, in order. `prefix`, `suffix`: their first and last labels; `max_depth`: maximum number of
         *     labels.
         */
        ListNamespaces: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            op: "namespaces";
            /** @default [] */
            prefix?: string[];
            /** @default [] */
            suffix?: string[];
            max_depth?: number | null;
            /** @default 100 */
            limit?: number;
            /** @default 0 */
            offset?: number;
        };
        /**
         * @description The result of retention: numbers of removed events, and of older ones that replay still needs.
         *
         *     The removed events are from before `before`.
         */
        LogRetention: {
            /** Format: date-time */
            before: string;
            removed: number;
            kept: number;
        };
        /** @description A memory of an answer, by its id: `get(memory_id, as_of=asked_at)` returns its text as it was. */
        LoggedHit: {
            /** Format: uuid */
            memory_id: string;
            section?: string | null;
            relevance?: number | null;
            reason?: string | null;
        };
        /**
         * @description One recall or context.
         *
         *     `hits`: the number of memories in the answer. `left_out`: the number of candidates that were left out of a context.
         *     `found_nothing`: the answer has no memory, or only weak ones that probably do not answer the question.
         */
        LoggedRequest: {
            /** Format: uuid */
            request_id: string;
            user_id: string;
            agent_id?: string | null;
            session_id?: string | null;
            /** @enum {string} */
            kind: "recall" | "context";
            /** @enum {string} */
            door: "library" | "http" | "mcp" | "cli";
            query: string;
            /** Format: date-time */
            asked_at: string;
            took_ms: number;
            hits: number;
            left_out: number;
            found_nothing: boolean;
        };
        /** @description A new key with its secret, which is shown only once. */
        MadeKey: {
            /** Format: uuid */
            key_id: string;
            tenant_id: string;
            name: string;
            user_id?: string | null;
            agent_id?: string | null;
            roles: ("reader" | "writer" | "admin" | "operator")[];
            limits?: components["schemas"]["KeyLimits"] | null;
            hint: string;
            created_by: string;
            /** Format: date-time */
            created_at: string;
            expires_at?: string | null;
            last_used_at?: string | null;
            revoked_at?: string | null;
            secret: string;
        };
        /** @description A new webhook with the secret that signs its deliveries, which is shown only once. */
        MadeWebhook: {
            /** Format: uuid */
            webhook_id: string;
            tenant_id: string;
            url: string;
            types: string[];
            active: boolean;
            position: number;
            attempts: number;
            /** Format: date-time */
            next_attempt_at: string;
            last_error?: string | null;
            last_delivered_at?: string | null;
            created_by: string;
            /** Format: date-time */
            created_at: string;
            failures: number;
            secret: string;
        };
        /** @description The role of a member, and when it ends. */
        Membership: {
            /** @enum {string} */
            role: "reader" | "writer" | "curator";
            expires_at?: string | null;
        };
        /**
         * @description One durable row: the content, its owner, the time it is true, and its lifetime.
         *
         *     `valid_from` and `valid_to` say when the content was true in the world; `created_at` and `updated_at` when Keeps
         *     stored it. `superseded_by` names the newer memory.
         *     `held_for`: why it waits in the inbox, where nothing finds it. `life` is set by `get`, `list` and `recall`.
         */
        Memory: {
            /** Format: uuid */
            memory_id: string;
            tenant_id: string;
            user_id: string;
            agent_id?: string | null;
            session_id?: string | null;
            /** @enum {string} */
            kind: "semantic" | "episodic" | "procedural";
            /** @enum {string} */
            layer: "session" | "short_term" | "long_term" | "knowledge";
            namespace?: string | null;
            key?: string | null;
            content: string;
            value?: components["schemas"]["JsonValue"];
            content_type: string;
            role?: ("user" | "assistant" | "system" | "tool") | null;
            trigger_condition?: string | null;
            procedure_type?: ("system_prompt" | "few_shot_example") | null;
            metadata: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            tags: string[];
            source?: string | null;
            importance: number;
            /** @enum {string} */
            visibility: "private" | "tenant";
            /** Format: date-time */
            valid_from: string;
            valid_to?: string | null;
            superseded_by?: string | null;
            expires_at?: string | null;
            archived_at?: string | null;
            deleted_at?: string | null;
            held_for?: ("instructions" | "hidden_text" | "flood" | "contradiction" | "trusted_source") | null;
            document_id?: string | null;
            version: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            life?: components["schemas"]["Life"] | null;
        };
        /** @description The changes of an `update`. Only given fields change; None empties a field that may be empty. */
        MemoryChange: {
            /** @default  */
            content?: string;
            value?: components["schemas"]["JsonValue"];
            /** @default fact */
            content_type?: string;
            /** @default [] */
            tags?: string[];
            /** @default 0.5 */
            importance?: number;
            metadata?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            /**
             * @default private
             * @enum {string}
             */
            visibility?: "private" | "tenant";
            source?: string | null;
            expires_at?: string | null;
            valid_from?: string | null;
            valid_to?: string | null;
            trigger_condition?: string | null;
            procedure_type?: ("system_prompt" | "few_shot_example") | null;
        };
        /**
         * @description Somebody who may read a memory, and why.
         *
         *     `reader_type`: a user, an agent (as a member of a space), a key, or the whole tenant. `role` is that in a space.
         */
        MemoryReader: {
            /** @enum {string} */
            reader_type: "user" | "agent" | "key" | "tenant";
            reader_id: string;
            why: string;
            role?: ("reader" | "writer" | "curator") | null;
            expires_at?: string | null;
        };
        /** @description A mention of an entity in a memory; `rejected`: a user rejected it. */
        Mention: {
            /** Format: uuid */
            memory_id: string;
            /** Format: uuid */
            entity_id: string;
            user_id: string;
            /** @enum {string} */
            source: "user" | "text" | "llm";
            /** @default false */
            rejected?: boolean;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        /** @description The entity to merge into the first. */
        Merge: {
            /** Format: uuid */
            merged_id: string;
        };
        /**
         * @description One message. `speaker`: a name, if the role is not enough; `tool`: the tool whose result this is; `occurred_at`:
         *     default now.
         */
        Message: {
            /** @enum {string} */
            role: "user" | "assistant" | "system" | "tool";
            content: string;
            speaker?: string | null;
            tool?: string | null;
            occurred_at?: string | null;
            metadata?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
        };
        /** @description An agent's own activity: a line of its daily log, the outcome of a recipe or task, a heartbeat. */
        NewActivity: {
            content: string;
            /**
             * @default daily_log
             * @enum {string}
             */
            activity?: "daily_log" | "recipe" | "task" | "heartbeat";
            session_id?: string | null;
            agent_id?: string | null;
            metadata?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
        };
        /**
         * @description A database that may be queried. `url`: `postgresql://`, `mysql://`, `mariadb://` or `sqlite:////file`, stored
         *     encrypted and never shown again. `tables`: `table` or `schema.table`, each with its columns, or "*" for all
         *     columns, including future ones. `samples`: columns of which a few values may be shown to the author of SQL.
         *     `asked_by`: the role that a query needs.
         */
        NewDatabase: {
            name: string;
            url: string;
            tables: {
                [key: string]: string[] | "*";
            };
            purpose: string;
            samples?: {
                [key: string]: string[];
            };
            /**
             * @default writer
             * @enum {string}
             */
            asked_by?: "reader" | "writer" | "admin";
        };
        /** @description An entity to store. An entity of the same type and name, or with the name as an alias, is updated instead. */
        NewEntity: {
            name: string;
            /** @default custom */
            entity_type?: string;
            properties?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            /** @default [] */
            aliases?: string[];
            /**
             * @default private
             * @enum {string}
             */
            visibility?: "private" | "tenant";
            entity_id?: string | null;
        };
        /** @description A value to store under a key. `metadata["content_type"]` is its type. */
        NewEntry: {
            value: components["schemas"]["JsonValue"];
            metadata?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
        };
        /** @description Messages of one conversation, in order. `space`: the space that owns them, whose members can find them. */
        NewExchange: {
            messages: components["schemas"]["Message"][];
            session_id: string;
            agent_id?: string | null;
            metadata?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            space?: string | null;
        };
        /** @description An interaction of one agent. Default `agent_id`: the calling agent. */
        NewInteraction: {
            agent_id?: string | null;
            /** @enum {string} */
            role: "user" | "assistant" | "system" | "tool";
            content: string;
            metadata?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            session_id?: string | null;
            user_id?: string | null;
        };
        /**
         * @description A key to create. Without `user_id`, it may act for any user of the tenant; each call names the user with
         *     `X-User-ID`.
         */
        NewKey: {
            name: string;
            user_id?: string | null;
            agent_id?: string | null;
            /**
             * @default [
             *       "writer"
             *     ]
             */
            roles?: ("reader" | "writer" | "admin" | "operator")[];
            limits?: components["schemas"]["KeyLimits"] | null;
            expires_at?: string | null;
        };
        /**
         * @description A fact to store. `is_public` (or `public`) shares it with the tenant. `external_id`: your name for it; storing
         *     it again replaces the fact. `user_id` is ignored: the caller is the owner.
         */
        NewKnowledge: {
            content: string;
            external_id?: string | null;
            /** @default false */
            is_public?: boolean;
            public?: boolean | null;
            user_id?: string | null;
            metadata?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            /** @default [] */
            tags?: string[];
            source?: string | null;
        };
        /**
         * @description A batch, stored completely or not at all.
         *
         *     `learn`: also store what the user's messages state (`role` "user", `content_type` "message"), each fact with the
         *     time of its message.
         */
        NewMemories: {
            items: components["schemas"]["NewMemory"][];
            /**
             * @default later
             * @enum {string}
             */
            index?: "now" | "later";
            learn?: ("facts" | "user_facts") | null;
        };
        /**
         * @description A memory to store; the arguments of `remember`.
         *
         *     `metadata["speaker"]` names the speaker of an episodic memory and `valid_from` its time: recall searches both.
         *     `importance` is 0.0 to 1.0, estimated from the text by default. `ttl_days` and `expires_at` exclude each other;
         *     `ttl_days` 0 means no expiry, and removes the expiry of a stored memory with the same text. `space`: the space that
         *     owns it, whose members can find it.
         */
        NewMemory: {
            content: string;
            /**
             * @default semantic
             * @enum {string}
             */
            kind?: "semantic" | "episodic" | "procedural";
            /** @default fact */
            content_type?: string;
            namespace?: string | null;
            key?: string | null;
            value?: components["schemas"]["JsonValue"];
            /** @default [] */
            tags?: string[];
            importance?: number | null;
            metadata?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            /**
             * @default private
             * @enum {string}
             */
            visibility?: "private" | "tenant";
            source?: string | null;
            agent_id?: string | null;
            session_id?: string | null;
            ttl_days?: number | null;
            expires_at?: string | null;
            valid_from?: string | null;
            role?: ("user" | "assistant" | "system" | "tool") | null;
            trigger_condition?: string | null;
            procedure_type?: ("system_prompt" | "few_shot_example") | null;
            if_version?: number | null;
            space?: string | null;
        };
        /** @description A memory and an entity. */
        NewMention: {
            /** Format: uuid */
            memory_id: string;
            /** Format: uuid */
            entity_id: string;
        };
        /**
         * @description A plan to create. A missing session is created; the parent must exist. `visibility` `tenant`: every user of the
         *     tenant may read, change and delete it by its id; its session and parent must be shared, too.
         */
        NewPlan: {
            plan_id?: string | null;
            goal_event: string;
            goal_data?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            response_event?: string | null;
            session_id?: string | null;
            parent_plan_id?: string | null;
            /**
             * @default running
             * @enum {string}
             */
            status?: "pending" | "running" | "paused" | "completed" | "failed" | "cancelled";
            state?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            /** @description Default: KEEPS_STATE_VISIBILITY, `private`. */
            visibility?: ("private" | "tenant") | null;
        };
        /**
         * @description A plan context to store. A missing plan is created, which needs `goal_event` (`goal` with `context`). In an
         *     existing plan, the given fields change and others stay.
         */
        NewPlanContext: {
            plan_id: string;
            session_id?: string | null;
            goal_event?: string | null;
            goal_data?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            response_event?: string | null;
            state?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            current_state?: string | null;
            correlation_ids?: string[];
            /** @description Several fields at once; entries that are not fields go into `state`. */
            context?: {
                [key: string]: components["schemas"]["JsonValue"];
            } | null;
            /** @description Default: KEEPS_STATE_VISIBILITY, `private`. */
            visibility?: ("private" | "tenant") | null;
            expected_version?: number | null;
        };
        /**
         * @description An edge to store. `source` and `target` are ids, or names of existing entities.
         *
         *     The same edge with other properties ends the previous one; with `exclusive` all other edges of this type from the
         *     same source end, too, as when somebody changes jobs.
         */
        NewRelation: {
            source: string;
            target: string;
            relation_type: string;
            properties?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            /** @default 1 */
            weight?: number;
            /**
             * @default private
             * @enum {string}
             */
            visibility?: "private" | "tenant";
            valid_from?: string | null;
            valid_to?: string | null;
            memory_id?: string | null;
            /** @default false */
            exclusive?: boolean;
        };
        /** @description A session to create; without an id, one is generated. */
        NewSession: {
            session_id?: string | null;
            name?: string | null;
            agent_id?: string | null;
            metadata?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
        };
        /** @description A prompt or example for an agent, and when it applies. Default `agent_id`: the calling agent. */
        NewSkill: {
            agent_id?: string | null;
            trigger_condition?: string | null;
            /** @enum {string} */
            procedure_type: "system_prompt" | "few_shot_example";
            content: string;
            user_id?: string | null;
        };
        /** @description A source that agents can look up: a document collection, a database or an API, with its purpose. */
        NewSource: {
            name: string;
            /** @enum {string} */
            kind: "document" | "database" | "api";
            purpose: string;
            /**
             * @default tenant
             * @enum {string}
             */
            visibility?: "private" | "tenant";
        };
        /** @description A space to create; the caller becomes its first curator. */
        NewSpace: {
            space_id: string;
            title?: string | null;
        };
        /**
         * @description A task context to store; an existing one is replaced. `sub_tasks`: ids, or objects with `sub_task_id`. With
         *     `context`, the default `event_type` is `task`. `visibility` `tenant`: every user of the tenant may read, change and
         *     delete it by its id.
         */
        NewTaskContext: {
            task_id: string;
            plan_id?: string | null;
            /** @description Ignored: the caller is the owner. */
            user_id?: string | null;
            event_type: string;
            response_event?: string | null;
            /** @default action-results */
            response_topic?: string;
            data?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            sub_tasks?: components["schemas"]["JsonValue"][];
            state?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            /** @description Several fields at once; entries that are not fields go into `state`. */
            context?: {
                [key: string]: components["schemas"]["JsonValue"];
            } | null;
            /** @description Default: KEEPS_STATE_VISIBILITY, `private`. */
            visibility?: ("private" | "tenant") | null;
            expected_version?: number | null;
        };
        /** @description A tool. `input_schema`: JSON Schema of its input; `auth`: how to authenticate, in words, never a secret. */
        NewTool: {
            name: string;
            purpose: string;
            when_to_use?: string | null;
            input_schema?: {
                [key: string]: components["schemas"]["JsonValue"];
            } | null;
            auth?: string | null;
            /**
             * @default tenant
             * @enum {string}
             */
            visibility?: "private" | "tenant";
        };
        /** @description A transcript to create; without an id, one is generated. */
        NewTranscript: {
            state?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            user_state?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            shared_state?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            transcript_id?: string | null;
            agent_id?: string | null;
            /** @description Start time. Default: now */
            at?: string | null;
        };
        /** @description An entry to append. Appending the same id and content again has no effect. */
        NewTranscriptEntry: {
            entry_id: string;
            at?: string | null;
            entry: components["schemas"]["JsonValue"];
        };
        /** @description The URL for a tenant's events, and their types. */
        NewWebhook: {
            url: string;
            /**
             * @default [
             *       "*"
             *     ]
             */
            types?: string[];
        };
        /** @description A key and its value. */
        NewWorkingItem: {
            value: components["schemas"]["JsonValue"];
            expected_version?: number | null;
            ttl_seconds?: number | null;
            /**
             * @description A key created by this belongs to the workflow: clearing the workflow removes it.
             * @default false
             */
            workflow?: boolean;
            key: string;
        };
        /** @description One note of a recent conversation. */
        Note: {
            /** @enum {string} */
            kind: "decision" | "action_item" | "tool_result" | "message";
            text: string;
            /** @enum {string} */
            role: "user" | "assistant" | "system" | "tool";
            /** Format: date-time */
            at: string;
        };
        /**
         * @description One run of a job over a tenant, or a decision about the inbox.
         *
         *     `counts`: what it did, by name, such as `{"archived": 12}`.
         *
         *     `undoable`: whether it can still be undone as a whole: for 30 days, if it changed anything.
         */
        Operation: {
            /** Format: uuid */
            operation_id: string;
            tenant_id: string;
            job: string;
            /** @enum {string} */
            status: "running" | "completed" | "failed" | "undone";
            counts: {
                [key: string]: number;
            };
            error?: string | null;
            undoable: boolean;
            /** Format: date-time */
            started_at: string;
            finished_at?: string | null;
            undone_at?: string | null;
            undone_by?: string | null;
        };
        /**
         * @description A change of one memory of the asking user by an operation: the changed fields before and after.
         *
         *     `before` is None if the operation created the memory.
         */
        OperationChange: {
            /** Format: uuid */
            memory_id: string;
            before?: {
                [key: string]: components["schemas"]["JsonValue"];
            } | null;
            after: {
                [key: string]: components["schemas"]["JsonValue"];
            };
        };
        /** @description An operation, with the changes to your own memories (at most 1,000). */
        OperationDetail: {
            /** Format: uuid */
            operation_id: string;
            tenant_id: string;
            job: string;
            /** @enum {string} */
            status: "running" | "completed" | "failed" | "undone";
            counts: {
                [key: string]: number;
            };
            error?: string | null;
            undoable: boolean;
            /** Format: date-time */
            started_at: string;
            finished_at?: string | null;
            undone_at?: string | null;
            undone_by?: string | null;
            changes: components["schemas"]["OperationChange"][];
        };
        Page_Entity_: {
            items: components["schemas"]["Entity"][];
            next_cursor?: string | null;
        };
        Page_HeldMemory_: {
            items: components["schemas"]["HeldMemory"][];
            next_cursor?: string | null;
        };
        Page_LoggedRequest_: {
            items: components["schemas"]["LoggedRequest"][];
            next_cursor?: string | null;
        };
        Page_Memory_: {
            items: components["schemas"]["Memory"][];
            next_cursor?: string | null;
        };
        Page_Operation_: {
            items: components["schemas"]["Operation"][];
            next_cursor?: string | null;
        };
        Page_TranscriptInfo_: {
            items: components["schemas"]["TranscriptInfo"][];
            next_cursor?: string | null;
        };
        Page_UserNamespaces_: {
            items: components["schemas"]["UserNamespaces"][];
            next_cursor?: string | null;
        };
        Part: {
            name: string;
            raw: number | null;
            normalised: number;
            weight: number;
            points: number;
            rank?: number | null;
        };
        /** @description Characters `start` to `end` of a memory's content. */
        Passage: {
            start: number;
            end: number;
        };
        /** @description Characters `start` to `end` of a document's text that form one memory. */
        PassagePlace: {
            /** Format: uuid */
            memory_id: string;
            start: number;
            end: number;
        };
        /** @description The two entities to find the shortest path between. */
        PathRequest: {
            source: string;
            target: string;
            /** @default 6 */
            max_depth?: number;
            /**
             * @default both
             * @enum {string}
             */
            direction?: "outgoing" | "incoming" | "both";
            relation_types?: string[] | null;
        };
        /** @description A stored plan. `sub_plan_ids`: its child plans, oldest first. */
        Plan: {
            plan_id: string;
            tenant_id: string;
            user_id: string;
            agent_id?: string | null;
            session_id?: string | null;
            parent_plan_id?: string | null;
            goal_event: string;
            goal_data: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            response_event?: string | null;
            /** @enum {string} */
            status: "pending" | "running" | "paused" | "completed" | "failed" | "cancelled";
            state: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            current_state?: string | null;
            correlation_ids: string[];
            sub_plan_ids: string[];
            /**
             * @default private
             * @enum {string}
             */
            visibility?: "private" | "tenant";
            version: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        /** @description The fields of a plan to change; others stay. */
        PlanChange: {
            /**
             * @default running
             * @enum {string}
             */
            status?: "pending" | "running" | "paused" | "completed" | "failed" | "cancelled";
            state?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            current_state?: string | null;
            response_event?: string | null;
            session_id?: string | null;
            goal_data?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            correlation_ids?: string[];
            expected_version?: number | null;
        };
        /** @description The plan as its state machine sees it. */
        PlanContext: {
            plan_id: string;
            tenant_id: string;
            user_id: string;
            session_id?: string | null;
            goal_event: string;
            goal_data: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            response_event?: string | null;
            state: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            current_state?: string | null;
            correlation_ids: string[];
            /** @enum {string} */
            status: "pending" | "running" | "paused" | "completed" | "failed" | "cancelled";
            /**
             * @default private
             * @enum {string}
             */
            visibility?: "private" | "tenant";
            version: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        /** @description The fields of a plan context to change; others stay. */
        PlanContextChange: {
            session_id?: string | null;
            /** @default  */
            goal_event?: string;
            goal_data?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            response_event?: string | null;
            state?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            current_state?: string | null;
            correlation_ids?: string[];
            expected_version?: number | null;
        };
        /** @description A skill; in a search, `score` (how likely it answers, 0 to 1) and `similarity` (cosine, None without vectors). */
        ProceduralItem: {
            id: string;
            tenant_id: string;
            user_id: string;
            agent_id?: string | null;
            trigger_condition?: string | null;
            procedure_type?: ("system_prompt" | "few_shot_example") | null;
            content: string;
            /** Format: date-time */
            created_at: string;
            score?: number | null;
            similarity?: number | null;
        };
        /**
         * @description A provider as it is listed. `builtin`: part of Keeps; `state`: `active`, or `failing` while it is left out of
         *     recall. `problems`: what you have to fix, such as an unreadable Markdown file.
         */
        ProviderInfo: {
            provider_id: string;
            /** @enum {string} */
            tier: "working" | "persistent" | "indexed";
            /** @default true */
            supports_search?: boolean;
            /** @default false */
            supports_graph?: boolean;
            /**
             * @default [
             *       "*"
             *     ]
             */
            content_types?: string[];
            /** @default false */
            read_only?: boolean;
            builtin: boolean;
            /**
             * @default active
             * @enum {string}
             */
            state?: "active" | "failing";
            registered_at?: string | null;
            problems?: {
                [key: string]: string;
            };
        };
        /**
         * @description Store a value in place of the previous one.
         *
         *     It is found by its `texts` (by name), or else by the whole value; with `index` false it is not found by meaning.
         *     `ttl_minutes`: its lifetime since the last write or refresh.
         */
        PutItem: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            op: "put";
            namespace: string[];
            key: string;
            value: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            /** @default true */
            index?: boolean;
            texts?: {
                [key: string]: string;
            } | null;
            ttl_minutes?: number | null;
        };
        /** @description The audit of a query. `rule`: the rule of the gate that refused it, or the kind of failure. */
        QueryAudit: {
            /** Format: uuid */
            audit_id: string;
            user_id: string;
            agent_id?: string | null;
            database: string;
            question?: string | null;
            sql?: string | null;
            /** @enum {string} */
            outcome: "allowed" | "refused" | "failed";
            rule?: string | null;
            /** @default [] */
            tables?: string[];
            /** @default 0 */
            rows?: number;
            took_ms: number;
            /** Format: date-time */
            asked_at: string;
        };
        /**
         * @description Rows, and the SQL that returned them. `cut`: there were more rows, or longer values. Numbers that JSON cannot
         *     represent, times and bytes are text. All of it is untrusted data.
         */
        QueryResult: {
            database: string;
            sql: string;
            tables: string[];
            columns: string[];
            rows: unknown[][];
            cut: boolean;
            took_ms: number;
            question?: string | null;
            /** @default false */
            repaired?: boolean;
            memory_id?: string | null;
        };
        /**
         * @description The number of jobs of a kind in one status of the worker's queue: queued, picked, or failed after all
         *     attempts.
         */
        QueueStatus: {
            job: string;
            status: string;
            jobs: number;
            /** Format: date-time */
            oldest: string;
        };
        /** @description The limits of a tenant. An omitted limit stays; None: no limit. */
        Quota: {
            max_memories?: number | null;
            max_bytes?: number | null;
        };
        /** @description The result of reading memories for entities. `pending`: memories that are still to be read. */
        Reading: {
            memories: number;
            entities: number;
            mentions: number;
            pending: number;
        };
        /** @description The number of entries that a provider has rebuilt. */
        Rebuilt: {
            provider_id: string;
            entries: number;
        };
        /**
         * @description One question; the arguments of `recall`.
         *
         *     `scope`: "all" (what this user may see), "own" (only what this user wrote), "shared" (only what others share with
         *     the tenant or in spaces), or one tier: "working", "persistent" (the database by words, and other stores), "indexed"
         *     (by meaning).
         *     `spaces`: of the spaces that the user is a member of, search only these; none with an empty list; all by default.
         *     `providers`: only these; "graph" adds memories that mention the question's entities. `since` and `until` limit
         *     `valid_from`. `as_of`: memories as stored at that time, including those changed or forgotten since; `valid_at`:
         *     memories true at that time, as stored now. `timezone`: the time zone of dates in the question; default:
         *     KEEPS_TIMEZONE. `include_archived`: True searches archived memories, too; False never does; None (the default) does
         *     if the best current hit is weak. `min_trust`: only memories of this level or a more trusted one: "user" (the user's
         *     own words), "agent" (their agents' too), "shared" (other users' too), "document" (documents too); "tool" is all.
         */
        RecallRequest: {
            query: string;
            /** @default 10 */
            limit?: number;
            kinds?: ("semantic" | "episodic" | "procedural")[] | null;
            layers?: ("session" | "short_term" | "long_term" | "knowledge")[] | null;
            content_types?: string[] | null;
            agent_id?: string | null;
            session_id?: string | null;
            namespace?: string | null;
            tags?: string[] | null;
            /**
             * @default any
             * @enum {string}
             */
            tags_match?: "any" | "all";
            filters?: {
                [key: string]: components["schemas"]["JsonValue"];
            } | null;
            min_importance?: number | null;
            min_relevance?: number | null;
            min_trust?: ("user" | "agent" | "shared" | "document" | "tool") | null;
            since?: string | null;
            until?: string | null;
            as_of?: string | null;
            valid_at?: string | null;
            /**
             * @default all
             * @enum {string}
             */
            scope?: "all" | "own" | "shared" | "working" | "persistent" | "indexed";
            spaces?: string[] | null;
            providers?: string[] | null;
            include_archived?: boolean | null;
            /** @default false */
            include_superseded?: boolean;
            timezone?: string | null;
            rerank?: boolean | null;
            /** @default false */
            explain?: boolean;
        };
        /**
         * @description The hits of one question, best first; `result[0]`, `len(result)` and `for hit in result` work, too.
         *
         *     `partial` is set if a provider failed or the vector index was unavailable.
         *     `nothing_known`: probably no memory answers the question. A hint: the nearest memories are among the hits.
         */
        RecallResult: {
            hits: components["schemas"]["Hit"][];
            /** @default false */
            nothing_known?: boolean;
            took_ms: number;
            /** @default false */
            partial?: boolean;
            failed_providers?: string[];
        };
        /**
         * @description The result of one write.
         *
         *     `unchanged`: it already existed. `held`: it waits in the inbox until somebody approves it.
         *     `superseded`: it was stored as an older version, because a newer one exists.
         *     `event_id` names the event that records it (None when nothing changed); `indexed` says whether the vector is stored,
         *     too: if not, recall matches only its words until the index catches up. `providers`: those that deleted the forgotten
         *     memory; `failed_providers`: read-only ones that still have it. `remains_in`: the source message of a forgotten fact,
         *     which still contains it.
         */
        Receipt: {
            /** @enum {string} */
            status: "created" | "updated" | "unchanged" | "superseded" | "forgotten" | "restored" | "held";
            /** Format: uuid */
            memory_id: string;
            memory?: components["schemas"]["Memory"] | null;
            event_id?: string | null;
            /** @default false */
            indexed?: boolean;
            /** @default [] */
            providers?: string[];
            /** @default [] */
            failed_providers?: string[];
            remains_in?: string | null;
        };
        /** @description A directed edge, true from `valid_from` until `valid_to`. `memory_id` and `event_id` say where it comes from. */
        Relation: {
            /** Format: uuid */
            relation_id: string;
            tenant_id: string;
            user_id: string;
            /** Format: uuid */
            source_id: string;
            /** Format: uuid */
            target_id: string;
            relation_type: string;
            properties: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            weight: number;
            /** @enum {string} */
            visibility: "private" | "tenant";
            /** Format: date-time */
            valid_from: string;
            valid_to?: string | null;
            memory_id?: string | null;
            /** Format: uuid */
            event_id: string;
            version: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            deleted_at?: string | null;
        };
        /** @description The removed entry, or None if there was none, and the version of the transcript without it. */
        RemovedEntry: {
            app: string;
            transcript_id: string;
            entry: components["schemas"]["TranscriptEntry"] | null;
            entry_count: number;
            version: number;
            /** Format: date-time */
            updated_at: string;
        };
        /** @description A table, and its number of rows according to the events. */
        ReplayedTable: {
            table: string;
            rows: number;
        };
        /** @description A request with its arguments and its answer (at most 100 memories), without the text of memories. */
        RequestDetail: {
            /** Format: uuid */
            request_id: string;
            user_id: string;
            agent_id?: string | null;
            session_id?: string | null;
            /** @enum {string} */
            kind: "recall" | "context";
            /** @enum {string} */
            door: "library" | "http" | "mcp" | "cli";
            query: string;
            /** Format: date-time */
            asked_at: string;
            took_ms: number;
            hits: number;
            left_out: number;
            found_nothing: boolean;
            arguments?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            /** @default [] */
            answer?: components["schemas"]["LoggedHit"][];
            /** @default [] */
            omitted?: components["schemas"]["LoggedHit"][];
        };
        /**
         * @description Items in a namespace and below it: with a query those nearest in meaning, best first, else newest update first.
         *     `filter`: `{"field": value}` or `{"field": {"$gt": 3}}`, with $eq $ne $gt $gte $lt $lte, of the value's fields;
         *     `{"field": {"inner": value}}` asks for a field of an object, `{"field": {"$eq": {…}}}` for that object alone.
         */
        SearchItems: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            op: "search";
            /** @default [] */
            prefix?: string[];
            query?: string | null;
            filter?: {
                [key: string]: components["schemas"]["JsonValue"];
            } | null;
            /** @default 10 */
            limit?: number;
            /** @default 0 */
            offset?: number;
            /** @default false */
            refresh_ttl?: boolean;
        };
        /** @description A fact; in a search, `score` (how likely it answers, 0 to 1) and `similarity` (cosine, None without vectors). */
        SemanticItem: {
            id: string;
            tenant_id: string;
            user_id: string;
            content: string;
            external_id?: string | null;
            is_public: boolean;
            metadata: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            tags: string[];
            source?: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            score?: number | null;
            similarity?: number | null;
        };
        /**
         * @description A stored conversation. `last_interaction` and `last_activity` are the same: the last change of the session, of a
         *     plan or working memory in it, or the last memory written in it. They are computed on request.
         */
        Session: {
            session_id: string;
            tenant_id: string;
            user_id: string;
            agent_id?: string | null;
            name?: string | null;
            metadata: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            plan_count: number;
            /** Format: date-time */
            last_interaction: string;
            /** Format: date-time */
            last_activity: string;
            ended_at?: string | null;
            version: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        /** @description The fields of a session to change; others stay. Without fields, only its last interaction is updated. */
        SessionChange: {
            name?: string | null;
            agent_id?: string | null;
            metadata?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            expected_version?: number | null;
        };
        /**
         * @description Layer 1: the notes of a conversation. `summary` is updated every five messages; `items` are at most 50, oldest
         *     first.
         */
        SessionNotes: {
            session_id: string;
            summary: string;
            items: components["schemas"]["Note"][];
            message_count: number;
            /** Format: date-time */
            updated_at: string;
            /** Format: date-time */
            expires_at: string;
        };
        /** @description The target of a copy: a space, or another agent of the same user; one of them. */
        ShareTarget: {
            space?: string | null;
            agent_id?: string | null;
        };
        /** @description A source that agents can look up. */
        Source: {
            name: string;
            /** @enum {string} */
            kind: "document" | "database" | "api";
            purpose: string;
            /** @enum {string} */
            visibility: "private" | "tenant";
            /** Format: uuid */
            memory_id: string;
            /** Format: date-time */
            updated_at: string;
        };
        /** @description The name of a source, as the inbox shows it, such as `tool:browser` or `https://example.org`. */
        SourceName: {
            source: string;
        };
        /** @description A space. `role`: the role of the caller. `members`: their number; the answer of one space names them, too. */
        Space: {
            space_id: string;
            tenant_id: string;
            title?: string | null;
            role?: ("reader" | "writer" | "curator") | null;
            members: number;
            /** Format: date-time */
            created_at: string;
            archived_at?: string | null;
        };
        /** @description The fields of a space to change; others stay. An archived space can be read and not written. */
        SpaceChange: {
            title?: string | null;
            archived?: boolean | null;
        };
        /** @description A space with its members. */
        SpaceDetail: {
            space_id: string;
            tenant_id: string;
            title?: string | null;
            role?: ("reader" | "writer" | "curator") | null;
            members: number;
            /** Format: date-time */
            created_at: string;
            archived_at?: string | null;
            member_list: components["schemas"]["SpaceMember"][];
        };
        /**
         * @description A member: a user, or an agent whose key or token is bound to it.
         *
         *     A reader reads; a writer also stores, changes and forgets; a curator also erases, and manages the space.
         */
        SpaceMember: {
            member_id: string;
            /** @enum {string} */
            member_type: "user" | "agent";
            /** @enum {string} */
            role: "reader" | "writer" | "curator";
            /** Format: date-time */
            added_at: string;
            expires_at?: string | null;
        };
        /** @description The tenant's storage at the end of a day. */
        StorageSample: {
            /** Format: date */
            day: string;
            memories: number;
            bytes: number;
            events: number;
        };
        /** @description A change of one sub-task: the named fields are set, its others stay. A new one is added as pending. */
        SubTaskChange: {
            event_type?: string | null;
            status?: string | null;
            data?: {
                [key: string]: components["schemas"]["JsonValue"];
            } | null;
            result?: components["schemas"]["JsonValue"] | null;
        };
        /** @description Remove items whose time to live is over. */
        SweepItems: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            op: "sweep";
        };
        /** @description Stored delegated work. */
        TaskContext: {
            task_id: string;
            tenant_id: string;
            user_id: string;
            agent_id?: string | null;
            plan_id?: string | null;
            event_type: string;
            response_event?: string | null;
            response_topic: string;
            data: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            sub_tasks: components["schemas"]["JsonValue"][];
            state: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            /**
             * @default private
             * @enum {string}
             */
            visibility?: "private" | "tenant";
            version: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        /** @description The fields of a task context to change; others stay. */
        TaskContextChange: {
            plan_id?: string | null;
            /** @default  */
            event_type?: string;
            response_event?: string | null;
            /** @default  */
            response_topic?: string;
            data?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            sub_tasks?: components["schemas"]["JsonValue"][];
            state?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            expected_version?: number | null;
        };
        /** @description A tenant with its usage and limits; None: no limit. */
        TenantInfo: {
            tenant_id: string;
            users: number;
            memories: number;
            bytes: number;
            max_memories?: number | null;
            max_bytes?: number | null;
            /** Format: date-time */
            created_at: string;
            /** @default main */
            cell?: string;
            /**
             * @default active
             * @enum {string}
             */
            state?: "active" | "frozen";
        };
        /** @description A stored tool. `score`: set in a search. */
        Tool: {
            name: string;
            purpose: string;
            when_to_use?: string | null;
            input_schema?: {
                [key: string]: unknown;
            } | null;
            auth?: string | null;
            /** @enum {string} */
            visibility: "private" | "tenant";
            /** Format: uuid */
            memory_id: string;
            /** Format: date-time */
            updated_at: string;
            score?: number | null;
        };
        /** @description An OpenAPI 3 document: each of its operations becomes a tool. `prefix` goes before each name. */
        ToolImport: {
            openapi: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            prefix?: string | null;
            /**
             * @default tenant
             * @enum {string}
             */
            visibility?: "private" | "tenant";
        };
        /** @description The names of the stored tools, and those left out, with the reason. */
        ToolsImported: {
            names: string[];
            /** @default [] */
            left_out?: string[];
        };
        /**
         * @description A transcript, or a part of it: if `next_after` is set, more entries follow. `user_state`: of all transcripts of
         *     the user in this app. `shared_state`: of all its users, the working memory of the plan `app:<app>`.
         */
        Transcript: {
            app: string;
            transcript_id: string;
            tenant_id: string;
            user_id: string;
            agent_id?: string | null;
            entry_count: number;
            state: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            user_state?: {
                [key: string]: components["schemas"]["JsonValue"];
            } | null;
            version: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            shared_state: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            entries: components["schemas"]["TranscriptEntry"][];
            next_after?: number | null;
        };
        /**
         * @description Entries to append and keys to set, together or not at all.
         *
         *     `expected_version` is the version that you read (0: no transcript yet); if others have written since, nothing is
         *     done. With `create`, a missing transcript is created.
         */
        TranscriptChange: {
            state?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            user_state?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            shared_state?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            entries?: components["schemas"]["NewTranscriptEntry"][];
            expected_version?: number | null;
            /** @default false */
            create?: boolean;
        };
        /** @description One entry of a transcript, as its framework writes it. `position` counts from 1. */
        TranscriptEntry: {
            position: number;
            entry_id: string;
            /** Format: date-time */
            at: string;
            entry: components["schemas"]["JsonValue"];
        };
        /**
         * @description A transcript with its own state, without its entries. `updated_at`: the time of its last entry. `user_state` is
         *     set in lists of several users.
         */
        TranscriptInfo: {
            app: string;
            transcript_id: string;
            tenant_id: string;
            user_id: string;
            agent_id?: string | null;
            entry_count: number;
            state: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            user_state?: {
                [key: string]: components["schemas"]["JsonValue"];
            } | null;
            version: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        /**
         * @description The entities and relations that were reached.
         *
         *     `entities` nearest first, with their `depths`; `relations` between them; `paths` as lists of entities, for a pattern
         *     or a shortest path. `truncated`: there are more than the limit.
         */
        Traversal: {
            entities: components["schemas"]["Entity"][];
            depths: number[];
            relations: components["schemas"]["Relation"][];
            paths?: string[][];
            /** @default false */
            truncated?: boolean;
        };
        /**
         * @description A start and a way to continue: within `depth` steps, or along a pattern.
         *
         *     A pattern names types of entities and relations in turn, `*` for any and `a|b` for several:
         *     `person -works_at-> org <-works_at- person`.
         */
        TraverseRequest: {
            start: string;
            path_pattern?: string | null;
            /** @default 2 */
            depth?: number;
            /**
             * @default outgoing
             * @enum {string}
             */
            direction?: "outgoing" | "incoming" | "both";
            relation_types?: string[] | null;
            /** @default 100 */
            limit?: number;
        };
        /** @description A source whose memories do not wait. */
        TrustedSource: {
            source: string;
            /** Format: date-time */
            trusted_at: string;
        };
        /** @description The result of an upsert: the fact's id, and whether it is new. */
        Upserted: {
            /** @enum {string} */
            status: "created" | "updated";
            id: string;
        };
        /** @description A memory that was recalled often. */
        Used: {
            /** Format: uuid */
            memory_id: string;
            content: string;
            access_count: number;
            /** Format: date-time */
            last_accessed_at: string;
        };
        /** @description A user who has items, and their namespaces. */
        UserNamespaces: {
            user_id: string;
            namespaces: string[][];
        };
        /**
         * @description The result of comparing a tenant's rows with its events, byte by byte, and of verifying the chain of its log.
         *
         *     `equal`: no row differs, and the chain is intact. `compared`: rows of each table.
         */
        Verification: {
            tenant_id: string;
            equal: boolean;
            events: number;
            compared: {
                [key: string]: number;
            };
            differences: components["schemas"]["Difference"][];
            chain: components["schemas"]["ChainVerification"];
        };
        /**
         * @description A webhook as it is listed. `position`: everything up to it is delivered or given up; `failures`: the number given
         *     up.
         */
        Webhook: {
            /** Format: uuid */
            webhook_id: string;
            tenant_id: string;
            url: string;
            types: string[];
            active: boolean;
            position: number;
            attempts: number;
            /** Format: date-time */
            next_attempt_at: string;
            last_error?: string | null;
            last_delivered_at?: string | null;
            created_by: string;
            /** Format: date-time */
            created_at: string;
            failures: number;
        };
        /** @description An event that a webhook did not accept after all attempts. It is still in the log, under its `sequence`. */
        WebhookFailure: {
            /** Format: uuid */
            webhook_id: string;
            sequence: number;
            attempts: number;
            error: string;
            /** Format: date-time */
            failed_at: string;
        };
        /** @description The number of memories created in the week that begins on `week`. */
        Week: {
            /** Format: date */
            week: string;
            memories: number;
        };
        /**
         * @description The step at which a question lost a memory, and by how much.
         *
         *     `lost_at`: `nowhere` if it is among the hits, at place `rank`; `state` if it is not current; `filter` if an argument
         *     excludes it (`arguments`); `candidates` if neither its words nor its meaning made it a candidate (its `similarity`
         *     beside the least of the candidates); `rank` if `limit` better hits came first (its `score` beside the last hit's);
         *     `relevance` if it is under `min_relevance`; `repeat` if another hit says the same; `later_statement` if a hit of a
         *     later time changed it, so that a context marks or omits it; `context` if it was found but left out of the context.
         */
        WhyNot: {
            /** Format: uuid */
            memory_id: string;
            /** @enum {string} */
            lost_at: "nowhere" | "state" | "filter" | "candidates" | "rank" | "relevance" | "repeat" | "later_statement" | "context";
            reason: string;
            arguments?: string[];
            rank?: number | null;
            /** @default 0 */
            candidates?: number;
            score?: number | null;
            last_score?: number | null;
            relevance?: number | null;
            similarity?: number | null;
            least_similarity?: number | null;
            newer_id?: string | null;
            left_out?: string | null;
        };
        /** @description A question, with the arguments of `recall`. `context`: look for it in a context of `budget_tokens`, too. */
        WhyNotQuestion: {
            query: string;
            /** @default 10 */
            limit?: number;
            kinds?: ("semantic" | "episodic" | "procedural")[] | null;
            layers?: ("session" | "short_term" | "long_term" | "knowledge")[] | null;
            content_types?: string[] | null;
            agent_id?: string | null;
            session_id?: string | null;
            namespace?: string | null;
            tags?: string[] | null;
            /**
             * @default any
             * @enum {string}
             */
            tags_match?: "any" | "all";
            filters?: {
                [key: string]: components["schemas"]["JsonValue"];
            } | null;
            min_importance?: number | null;
            min_relevance?: number | null;
            min_trust?: ("user" | "agent" | "shared" | "document" | "tool") | null;
            since?: string | null;
            until?: string | null;
            as_of?: string | null;
            valid_at?: string | null;
            /**
             * @default all
             * @enum {string}
             */
            scope?: "all" | "own" | "shared" | "working" | "persistent" | "indexed";
            spaces?: string[] | null;
            providers?: string[] | null;
            include_archived?: boolean | null;
            /** @default false */
            include_superseded?: boolean;
            timezone?: string | null;
            rerank?: boolean | null;
            /** @default false */
            explain?: boolean;
            /** @default false */
            context?: boolean;
            /** @default 4000 */
            budget_tokens?: number;
        };
        /** @description The result of deleting all keys of a plan. */
        WorkingCleared: {
            /** @default true */
            success?: boolean;
            count_deleted: number;
            message: string;
        };
        /** @description The result of deleting one key. */
        WorkingDeleted: {
            /** @default true */
            success?: boolean;
            deleted: boolean;
            message: string;
        };
        /**
         * @description One key of a plan. `version` counts its writes, from 1; `user_id` wrote it last; `workflow`: a WorkflowState
         *     created it.
         */
        WorkingItem: {
            id: string;
            tenant_id: string;
            plan_id: string;
            key: string;
            value: components["schemas"]["JsonValue"];
            version: number;
            user_id: string;
            /** @default false */
            workflow?: boolean;
            expires_at?: string | null;
            /** Format: date-time */
            updated_at: string;
        };
        /** @description A value to store under a key. `ttl_seconds`: lifetime, unless it is written again. */
        WorkingValue: {
            value: components["schemas"]["JsonValue"];
            expected_version?: number | null;
            ttl_seconds?: number | null;
            /**
             * @description A key created by this belongs to the workflow: clearing the workflow removes it.
             * @default false
             */
            workflow?: boolean;
        };
        /** @description An error according to RFC 9457. */
        Problem: {
            type: string;
            title: string;
            code: string;
            detail: string;
            request_id: string;
            status: number;
            errors?: {
                field?: string;
                message?: string;
            }[];
            current_version?: number | null;
            current?: unknown;
            retry_after_seconds?: number;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    "get /health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: string;
                    };
                };
            };
        };
    };
    "get /ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
        };
    };
    "get /metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    "get /v1/memory/working/{plan_id}/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                plan_id: string;
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkingItem"];
                };
            };
        };
    };
    "put /v1/memory/working/{plan_id}/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                plan_id: string;
                key: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WorkingValue"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkingItem"];
                };
            };
        };
    };
    "delete /v1/memory/working/{plan_id}/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                plan_id: string;
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkingDeleted"];
                };
            };
        };
    };
    "get /v1/memory/working/{plan_id}": {
        parameters: {
            query?: {
                /** @description False: only keys and versions; each `value` is null. */
                values?: boolean;
                limit?: number;
                cursor?: string | null;
            };
            header?: never;
            path: {
                plan_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkingItem"][];
                };
            };
        };
    };
    "post /v1/memory/working/{plan_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                plan_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewWorkingItem"];
            };
        };
        responses: {
            /** @description It already existed, or this is the stored answer of an earlier request. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkingItem"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkingItem"];
                };
            };
        };
    };
    "delete /v1/memory/working/{plan_id}": {
        parameters: {
            query?: {
                /** @description Only the keys that a WorkflowState created. */
                workflow?: boolean;
            };
            header?: never;
            path: {
                plan_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkingCleared"];
                };
            };
        };
    };
    "post /v1/memory/atomic/append": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AtomicAppend"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AtomicResult"];
                };
            };
        };
    };
    "post /v1/memory/atomic/extend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AtomicExtend"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AtomicResult"];
                };
            };
        };
    };
    "post /v1/memory/atomic/merge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AtomicMerge"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AtomicResult"];
                };
            };
        };
    };
    "post /v1/memory/atomic/increment": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AtomicIncrement"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AtomicResult"];
                };
            };
        };
    };
    "get /v1/memories": {
        parameters: {
            query?: {
                /** @description Filters as JSON */
                filters?: string | null;
                namespace?: string | null;
                key?: string | null;
                /** @description created: newest first · importance: highest first · recency: last changed first · name: by namespace and key, memories without a key last */
                order?: "created" | "importance" | "recency" | "name";
                limit?: number;
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_Memory_"];
                };
            };
        };
    };
    "post /v1/memories": {
        parameters: {
            query?: {
                index?: "now" | "later";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewMemory"];
            };
        };
        responses: {
            /** @description It already existed, or this is the stored answer of an earlier request. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Receipt"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Receipt"];
                };
            };
        };
    };
    "delete /v1/memories": {
        parameters: {
            query: {
                namespace: string;
                key: string;
                hard?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Receipt"];
                };
            };
        };
    };
    "post /v1/memories/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewMemories"];
            };
        };
        responses: {
            /** @description It already existed, or this is the stored answer of an earlier request. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Receipt"][];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Receipt"][];
                };
            };
        };
    };
    "get /v1/memories/{memory_id}": {
        parameters: {
            query?: {
                /** @description As stored then */
                as_of?: string | null;
            };
            header?: never;
            path: {
                memory_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Memory"];
                };
            };
        };
    };
    "delete /v1/memories/{memory_id}": {
        parameters: {
            query?: {
                hard?: boolean;
            };
            header?: never;
            path: {
                memory_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Receipt"];
                };
            };
        };
    };
    "patch /v1/memories/{memory_id}": {
        parameters: {
            query?: {
                index?: "now" | "later";
            };
            header?: never;
            path: {
                memory_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MemoryChange"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Receipt"];
                };
            };
        };
    };
    "post /v1/memories/move": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["KeysMoved"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeysChanged"];
                };
            };
        };
    };
    "post /v1/memories/forget": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["KeysForgotten"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeysChanged"];
                };
            };
        };
    };
    "post /v1/memories/{memory_id}/restore": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                memory_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Receipt"];
                };
            };
        };
    };
    "get /v1/memories/{memory_id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                memory_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Event"][];
                };
            };
        };
    };
    "post /v1/recall": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RecallRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecallResult"];
                };
            };
        };
    };
    "post /v1/items": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ItemBatch"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ItemResults"];
                };
            };
        };
    };
    "post /v1/items/read": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ItemReads"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ItemResults"];
                };
            };
        };
    };
    "get /v1/admin/items/namespaces": {
        parameters: {
            query?: {
                limit?: number;
                /** @description Only users after this one */
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_UserNamespaces_"];
                };
            };
        };
    };
    "post /v1/context": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ContextRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ContextResult"];
                };
            };
        };
    };
    "get /v1/sources": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Source"][];
                };
            };
        };
    };
    "post /v1/sources": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSource"];
            };
        };
        responses: {
            /** @description It already existed, or this is the stored answer of an earlier request. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Source"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Source"];
                };
            };
        };
    };
    "delete /v1/sources/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Receipt"];
                };
            };
        };
    };
    "post /v1/exchanges": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewExchange"];
            };
        };
        responses: {
            /** @description It already existed, or this is the stored answer of an earlier request. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExchangeReceipt"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExchangeReceipt"];
                };
            };
        };
    };
    "post /v1/activities": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewActivity"];
            };
        };
        responses: {
            /** @description It already existed, or this is the stored answer of an earlier request. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Receipt"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Receipt"];
                };
            };
        };
    };
    "get /v1/sessions/{session_id}/notes": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionNotes"] | null;
                };
            };
        };
    };
    "post /v1/sessions/{session_id}/end": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Receipt"];
                };
            };
        };
    };
    "post /v1/memory/semantic": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewKnowledge"];
            };
        };
        responses: {
            /** @description It already existed, or this is the stored answer of an earlier request. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SemanticItem"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SemanticItem"];
                };
            };
        };
    };
    "post /v1/memory/semantic/upsert": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["KnowledgeUpsert"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Upserted"];
                };
            };
        };
    };
    "post /v1/memory/semantic/query": {
        parameters: {
            query: {
                query: string;
                limit?: number;
                include_public?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SemanticItem"][];
                };
            };
        };
    };
    "get /v1/memory/semantic/search": {
        parameters: {
            query: {
                q: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SemanticItem"][];
                };
            };
        };
    };
    "post /v1/memory/episodic": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewInteraction"];
            };
        };
        responses: {
            /** @description It already existed, or this is the stored answer of an earlier request. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EpisodicItem"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EpisodicItem"];
                };
            };
        };
    };
    "get /v1/memory/episodic/recent": {
        parameters: {
            query?: {
                /** @description Default: the calling agent. */
                agent_id?: string | null;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EpisodicItem"][];
                };
            };
        };
    };
    "get /v1/memory/episodic/search": {
        parameters: {
            query: {
                q: string;
                /** @description Default: the calling agent. */
                agent_id?: string | null;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EpisodicItem"][];
                };
            };
        };
    };
    "post /v1/memory/procedural": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSkill"];
            };
        };
        responses: {
            /** @description It already existed, or this is the stored answer of an earlier request. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProceduralItem"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProceduralItem"];
                };
            };
        };
    };
    "get /v1/memory/procedural/context": {
        parameters: {
            query: {
                q: string;
                /** @description Default: the calling agent. */
                agent_id?: string | null;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProceduralItem"][];
                };
            };
        };
    };
    "post /v1/memory/task-context": {
        parameters: {
            query?: {
                /** @description `sub_tasks` contains the details of each sub-task; without it, their ids. */
                details?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewTaskContext"];
            };
        };
        responses: {
            /** @description It already existed, or this is the stored answer of an earlier request. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskContext"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskContext"];
                };
            };
        };
    };
    "get /v1/memory/task-context/by-subtask/{sub_task_id}": {
        parameters: {
            query?: {
                /** @description `sub_tasks` contains the details of each sub-task; without it, their ids. */
                details?: boolean;
            };
            header?: never;
            path: {
                sub_task_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskContext"];
                };
            };
        };
    };
    "get /v1/memory/task-context/{task_id}": {
        parameters: {
            query?: {
                /** @description `sub_tasks` contains the details of each sub-task; without it, their ids. */
                details?: boolean;
            };
            header?: never;
            path: {
                task_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskContext"];
                };
            };
        };
    };
    "put /v1/memory/task-context/{task_id}": {
        parameters: {
            query?: {
                /** @description `sub_tasks` contains the details of each sub-task; without it, their ids. */
                details?: boolean;
            };
            header?: never;
            path: {
                task_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TaskContextChange"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskContext"];
                };
            };
        };
    };
    "delete /v1/memory/task-context/{task_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                task_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    "put /v1/memory/task-context/{task_id}/sub-tasks/{sub_task_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                task_id: string;
                sub_task_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SubTaskChange"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskContext"];
                };
            };
        };
    };
    "post /v1/memory/plan-context": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewPlanContext"];
            };
        };
        responses: {
            /** @description It already existed, or this is the stored answer of an earlier request. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanContext"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanContext"];
                };
            };
        };
    };
    "get /v1/memory/plan-context/by-correlation/{correlation_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                correlation_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanContext"];
                };
            };
        };
    };
    "get /v1/memory/plan-context/{plan_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                plan_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanContext"];
                };
            };
        };
    };
    "put /v1/memory/plan-context/{plan_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                plan_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PlanContextChange"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanContext"];
                };
            };
        };
    };
    "get /v1/memory/plans": {
        parameters: {
            query?: {
                status?: ("active" | "pending" | "running" | "paused" | "completed" | "failed" | "cancelled") | null;
                session_id?: string | null;
                parent_plan_id?: string | null;
                /** @description Default: KEEPS_STATE_VISIBILITY, `private`. */
                visibility?: ("private" | "tenant") | null;
                limit?: number;
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Plan"][];
                };
            };
        };
    };
    "post /v1/memory/plans": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewPlan"];
            };
        };
        responses: {
            /** @description It already existed, or this is the stored answer of an earlier request. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Plan"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Plan"];
                };
            };
        };
    };
    "get /v1/memory/plans/{plan_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                plan_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Plan"];
                };
            };
        };
    };
    "put /v1/memory/plans/{plan_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                plan_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PlanChange"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Plan"];
                };
            };
        };
    };
    "delete /v1/memory/plans/{plan_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                plan_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    "get /v1/memory/sessions": {
        parameters: {
            query?: {
                /** @description Only ended sessions; with false, only those that are not. */
                ended?: boolean | null;
                limit?: number;
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"][];
                };
            };
        };
    };
    "post /v1/memory/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSession"];
            };
        };
        responses: {
            /** @description It already existed, or this is the stored answer of an earlier request. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
        };
    };
    "get /v1/memory/sessions/{session_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
        };
    };
    "put /v1/memory/sessions/{session_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                session_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SessionChange"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
        };
    };
    "delete /v1/memory/sessions/{session_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    "get /v1/spaces": {
        parameters: {
            query?: {
                after?: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Space"][];
                };
            };
        };
    };
    "post /v1/spaces": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSpace"];
            };
        };
        responses: {
            /** @description It already existed, or this is the stored answer of an earlier request. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Space"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Space"];
                };
            };
        };
    };
    "get /v1/spaces/{space_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                space_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SpaceDetail"];
                };
            };
        };
    };
    "delete /v1/spaces/{space_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                space_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErasureReceipt"];
                };
            };
        };
    };
    "patch /v1/spaces/{space_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                space_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SpaceChange"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Space"];
                };
            };
        };
    };
    "put /v1/spaces/{space_id}/members/{member_type}/{member_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                space_id: string;
                member_type: "user" | "agent";
                member_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Membership"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SpaceMember"];
                };
            };
        };
    };
    "delete /v1/spaces/{space_id}/members/{member_type}/{member_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                space_id: string;
                member_type: "user" | "agent";
                member_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    "get /v1/memories/{memory_id}/readers": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                memory_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemoryReader"][];
                };
            };
        };
    };
    "post /v1/memories/{memory_id}/share": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                memory_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ShareTarget"];
            };
        };
        responses: {
            /** @description It already existed, or this is the stored answer of an earlier request. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Receipt"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Receipt"];
                };
            };
        };
    };
    "delete /v1/memories/{memory_id}/share": {
        parameters: {
            query?: {
                space?: string | null;
                agent_id?: string | null;
            };
            header?: never;
            path: {
                memory_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Receipt"];
                };
            };
        };
    };
    "get /v1/admin/spaces": {
        parameters: {
            query?: {
                after?: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Space"][];
                };
            };
        };
    };
    "get /v1/transcripts/{app}": {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string | null;
            };
            header?: never;
            path: {
                app: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_TranscriptInfo_"];
                };
            };
        };
    };
    "post /v1/transcripts/{app}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                app: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewTranscript"];
            };
        };
        responses: {
            /** @description It already existed, or this is the stored answer of an earlier request. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Transcript"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Transcript"];
                };
            };
        };
    };
    "get /v1/transcripts/{app}/{transcript_id}": {
        parameters: {
            query?: {
                /** @description Maximum number of entries, the last ones */
                last?: number | null;
                /** @description Only entries at this time or later */
                since?: string | null;
                /** @description Only entries after this position */
                after?: number;
                limit?: number;
            };
            header?: never;
            path: {
                app: string;
                transcript_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Transcript"];
                };
            };
        };
    };
    "delete /v1/transcripts/{app}/{transcript_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                app: string;
                transcript_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    "post /v1/transcripts/{app}/{transcript_id}/entries": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                app: string;
                transcript_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TranscriptChange"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Appended"];
                };
            };
        };
    };
    "delete /v1/transcripts/{app}/{transcript_id}/entries": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                app: string;
                transcript_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Appended"];
                };
            };
        };
    };
    "delete /v1/transcripts/{app}/{transcript_id}/entries/last": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                app: string;
                transcript_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RemovedEntry"];
                };
            };
        };
    };
    "get /v1/apps/{app}/state": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                app: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppState"];
                };
            };
        };
    };
    "get /v1/admin/transcripts/{app}": {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string | null;
            };
            header?: never;
            path: {
                app: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_TranscriptInfo_"];
                };
            };
        };
    };
    "get /v1/graph/entities": {
        parameters: {
            query?: {
                /** @description A name or alias */
                name?: string | null;
                entity_type?: string | null;
                limit?: number;
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_Entity_"];
                };
            };
        };
    };
    "post /v1/graph/entities": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewEntity"];
            };
        };
        responses: {
            /** @description It already existed, or this is the stored answer of an earlier request. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Entity"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Entity"];
                };
            };
        };
    };
    "get /v1/graph/entities/{entity_id}": {
        parameters: {
            query?: {
                /** @description As stored then */
                as_of?: string | null;
            };
            header?: never;
            path: {
                entity_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Entity"];
                };
            };
        };
    };
    "delete /v1/graph/entities/{entity_id}": {
        parameters: {
            query?: {
                hard?: boolean;
            };
            header?: never;
            path: {
                entity_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Entity"];
                };
            };
        };
    };
    "get /v1/graph/entities/{entity_id}/relations": {
        parameters: {
            query?: {
                direction?: "outgoing" | "incoming" | "both";
                relation_type?: string | null;
                /** @description As stored then */
                as_of?: string | null;
            };
            header?: never;
            path: {
                entity_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Relation"][];
                };
            };
        };
    };
    "post /v1/graph/entities/{entity_id}/merge": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                entity_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Merge"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Entity"];
                };
            };
        };
    };
    "post /v1/graph/entities/{entity_id}/unmerge": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                entity_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Entity"];
                };
            };
        };
    };
    "post /v1/graph/relations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewRelation"];
            };
        };
        responses: {
            /** @description It already existed, or this is the stored answer of an earlier request. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Relation"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Relation"];
                };
            };
        };
    };
    "delete /v1/graph/relations/{relation_id}": {
        parameters: {
            query?: {
                hard?: boolean;
            };
            header?: never;
            path: {
                relation_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Relation"];
                };
            };
        };
    };
    "post /v1/graph/traverse": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TraverseRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Traversal"];
                };
            };
        };
    };
    "post /v1/graph/shortest-path": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PathRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Traversal"];
                };
            };
        };
    };
    "get /v1/graph/mentions": {
        parameters: {
            query?: {
                entity_id?: string | null;
                memory_id?: string | null;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Mention"][];
                };
            };
        };
    };
    "post /v1/graph/mentions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewMention"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Mention"];
                };
            };
        };
    };
    "delete /v1/graph/mentions": {
        parameters: {
            query: {
                memory_id: string;
                entity_id: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Mention"];
                };
            };
        };
    };
    "post /v1/graph/read": {
        parameters: {
            query?: {
                again?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Reading"];
                };
            };
        };
    };
    "get /v1/documents": {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string | null;
                under?: string | null;
                mine?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Document"][];
                };
            };
        };
    };
    "post /v1/documents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "multipart/form-data": {
                    /** Format: binary */
                    file: string;
                    /** @description JSON: title, source, metadata, tags, visibility */
                    document?: string;
                };
            };
        };
        responses: {
            /** @description It already existed, or this is the stored answer of an earlier request. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentReceipt"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentReceipt"];
                };
            };
        };
    };
    "get /v1/documents/{document_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                document_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Document"];
                };
            };
        };
    };
    "delete /v1/documents/{document_id}": {
        parameters: {
            query?: {
                hard?: boolean;
            };
            header?: never;
            path: {
                document_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentDeleted"];
                };
            };
        };
    };
    "get /v1/documents/{document_id}/text": {
        parameters: {
            query?: {
                start?: number;
                length?: number;
            };
            header?: never;
            path: {
                document_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentText"];
                };
            };
        };
    };
    "post /v1/documents/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DocumentSearch"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentHits"];
                };
            };
        };
    };
    "get /v1/databases": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DatabaseInfo"][];
                };
            };
        };
    };
    "post /v1/databases": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewDatabase"];
            };
        };
        responses: {
            /** @description It already existed, or this is the stored answer of an earlier request. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DatabaseInfo"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DatabaseInfo"];
                };
            };
        };
    };
    "post /v1/databases/{name}/refresh": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DatabaseInfo"];
                };
            };
        };
    };
    "delete /v1/databases/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DatabaseRemoved"];
                };
            };
        };
    };
    "post /v1/query": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DataQuestion"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueryResult"];
                };
            };
        };
    };
    "post /v1/databases/{name}/query": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DatabaseQuery"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueryResult"];
                };
            };
        };
    };
    "get /v1/queries": {
        parameters: {
            query?: {
                user_id?: string | null;
                limit?: number;
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueryAudit"][];
                };
            };
        };
    };
    "get /v1/tools": {
        parameters: {
            query?: {
                query?: string | null;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tool"][];
                };
            };
        };
    };
    "post /v1/tools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewTool"];
            };
        };
        responses: {
            /** @description It already existed, or this is the stored answer of an earlier request. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tool"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tool"];
                };
            };
        };
    };
    "post /v1/openapi": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ToolImport"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolsImported"];
                };
            };
        };
    };
    "delete /v1/tools/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Receipt"];
                };
            };
        };
    };
    "get /v1/providers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProviderInfo"][];
                };
            };
        };
    };
    "post /v1/providers/markdown/append": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AppendText"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Entry"][];
                };
            };
        };
    };
    "get /v1/providers/{provider_id}/entries/{entry_key}": {
        parameters: {
            query?: {
                /** @description Session of the scratchpad, for the provider `working` */
                session_id?: string | null;
            };
            header?: never;
            path: {
                provider_id: string;
                entry_key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Entry"];
                };
            };
        };
    };
    "put /v1/providers/{provider_id}/entries/{entry_key}": {
        parameters: {
            query?: {
                /** @description Session of the scratchpad, for the provider `working` */
                session_id?: string | null;
            };
            header?: never;
            path: {
                provider_id: string;
                entry_key: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewEntry"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Entry"];
                };
            };
        };
    };
    "delete /v1/providers/{provider_id}/entries/{entry_key}": {
        parameters: {
            query?: {
                /** @description Session of the scratchpad, for the provider `working` */
                session_id?: string | null;
            };
            header?: never;
            path: {
                provider_id: string;
                entry_key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Entry"];
                };
            };
        };
    };
    "post /v1/providers/{provider_id}/rebuild": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                provider_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Rebuilt"];
                };
            };
        };
    };
    "get /v1/events": {
        parameters: {
            query?: {
                /** @description The number of an event. */
                after?: number;
                /** @description Several, separated by commas. */
                types?: string | null;
                /** @description Several, separated by commas. */
                kinds?: string | null;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Event"][];
                };
            };
        };
    };
    "get /v1/admin/events/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Verification"];
                };
            };
        };
    };
    "get /v1/admin/events/replay": {
        parameters: {
            query?: {
                until?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReplayedTable"][];
                };
            };
        };
    };
    "post /v1/admin/events/retire": {
        parameters: {
            query: {
                older_than_days: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogRetention"];
                };
            };
        };
    };
    "get /v1/admin/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"][];
                };
            };
        };
    };
    "post /v1/admin/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewWebhook"];
            };
        };
        responses: {
            /** @description It already existed, or this is the stored answer of an earlier request. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MadeWebhook"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MadeWebhook"];
                };
            };
        };
    };
    "delete /v1/admin/webhooks/{webhook_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                webhook_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
        };
    };
    "get /v1/admin/webhooks/{webhook_id}/failures": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                webhook_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookFailure"][];
                };
            };
        };
    };
    "post /v1/admin/webhooks/{webhook_id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                webhook_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
        };
    };
    "get /v1/admin/events/links": {
        parameters: {
            query?: {
                /** @description The number of an event. */
                after?: number;
                limit?: number;
                /** @description With the contents of the events of all users. */
                contents?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventLink"][];
                };
            };
        };
    };
    "post /v1/admin/events/chain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChainQuery"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChainVerification"];
                };
            };
        };
    };
    "get /v1/admin/events/head": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Anchor"];
                };
            };
        };
    };
    "get /v1/admin/certificates/key": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CertificateKey"];
                };
            };
        };
    };
    "get /v1/operations": {
        parameters: {
            query?: {
                job?: ("sessions" | "promotion" | "decay" | "expiry" | "storage" | "consolidation" | "index" | "counts" | "inbox") | null;
                status?: ("running" | "completed" | "failed" | "undone") | null;
                limit?: number;
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_Operation_"];
                };
            };
        };
    };
    "get /v1/operations/{operation_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                operation_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationDetail"];
                };
            };
        };
    };
    "post /v1/operations/{operation_id}/undo": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                operation_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Operation"];
                };
            };
        };
    };
    "get /v1/admin/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueStatus"][];
                };
            };
        };
    };
    "get /v1/admin/jobs/held": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HeldJob"][];
                };
            };
        };
    };
    "post /v1/admin/jobs/retry": {
        parameters: {
            query?: {
                job_id?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": number;
                };
            };
        };
    };
    "get /v1/inbox": {
        parameters: {
            query?: {
                reason?: ("instructions" | "hidden_text" | "flood" | "contradiction" | "trusted_source") | null;
                limit?: number;
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_HeldMemory_"];
                };
            };
        };
    };
    "get /v1/inbox/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InboxCount"];
                };
            };
        };
    };
    "post /v1/inbox/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["HeldIds"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Operation"];
                };
            };
        };
    };
    "post /v1/inbox/drop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["HeldIds"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Operation"];
                };
            };
        };
    };
    "get /v1/inbox/sources": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TrustedSource"][];
                };
            };
        };
    };
    "post /v1/inbox/sources": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SourceName"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Operation"];
                };
            };
        };
    };
    "delete /v1/inbox/sources": {
        parameters: {
            query: {
                source: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TrustedSource"];
                };
            };
        };
    };
    "get /v1/memories/{memory_id}/why": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                memory_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Belief"];
                };
            };
        };
    };
    "post /v1/memories/{memory_id}/why-not": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                memory_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WhyNotQuestion"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhyNot"];
                };
            };
        };
    };
    "get /v1/requests": {
        parameters: {
            query?: {
                user_id?: string | null;
                all_users?: boolean;
                kind?: ("recall" | "context") | null;
                found_nothing?: boolean;
                limit?: number;
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_LoggedRequest_"];
                };
            };
        };
    };
    "get /v1/requests/{request_id}": {
        parameters: {
            query?: {
                user_id?: string | null;
            };
            header?: never;
            path: {
                request_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RequestDetail"];
                };
            };
        };
    };
    "get /v1/insights": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Insights"];
                };
            };
        };
    };
    "get /v1/insights/junk": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JunkAudit"];
                };
            };
        };
    };
    "get /v1/admin/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyInfo"][];
                };
            };
        };
    };
    "post /v1/admin/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewKey"];
            };
        };
        responses: {
            /** @description It already existed, or this is the stored answer of an earlier request. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MadeKey"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MadeKey"];
                };
            };
        };
    };
    "get /v1/admin/tenants/{tenant_id}/keys": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tenant_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyInfo"][];
                };
            };
        };
    };
    "post /v1/admin/tenants/{tenant_id}/keys": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tenant_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewKey"];
            };
        };
        responses: {
            /** @description It already existed, or this is the stored answer of an earlier request. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MadeKey"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MadeKey"];
                };
            };
        };
    };
    "delete /v1/admin/keys/{key_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyInfo"];
                };
            };
        };
    };
    "delete /v1/admin/tenants/{tenant_id}/keys/{key_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tenant_id: string;
                key_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyInfo"];
                };
            };
        };
    };
    "get /v1/admin/tenants/{tenant_id}/users": {
        parameters: {
            query?: {
                after?: string;
                limit?: number;
            };
            header?: never;
            path: {
                tenant_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": string[];
                };
            };
        };
    };
    "delete /v1/admin/tenants/{tenant_id}/users/{user_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tenant_id: string;
                user_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErasureReceipt"];
                };
            };
        };
    };
    "delete /v1/admin/users/{user_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                user_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErasureReceipt"];
                };
            };
        };
    };
    "get /v1/admin/tenants": {
        parameters: {
            query?: {
                after?: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantInfo"][];
                };
            };
        };
    };
    "put /v1/admin/tenants/{tenant_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tenant_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Quota"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantInfo"];
                };
            };
        };
    };
    "delete /v1/admin/tenants/{tenant_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tenant_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErasureReceipt"];
                };
            };
        };
    };
    "get /v1/admin/costs": {
        parameters: {
            query?: {
                /** @description The first day; 30 days until the last one if not given */
                since?: string | null;
                /** @description The last day; today if not given */
                until?: string | null;
                by?: "day" | "job" | "model" | "tenant";
                /** @description Another tenant than your own, for operators */
                tenant_id?: string | null;
                /** @description All tenants together, for operators */
                all_tenants?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Costs"];
                };
            };
        };
    };
    "get /v1/events/stream": {
        parameters: {
            query?: {
                /** @description Several, separated by commas. */
                types?: string | null;
                /** @description Several, separated by commas. */
                kinds?: string | null;
                after?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    "get /v1/admin/export": {
        parameters: {
            query?: {
                /** @description Only this user's data */
                user_id?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                };
            };
        };
    };
    "get /v1/admin/tenants/{tenant_id}/export": {
        parameters: {
            query?: {
                /** @description Only this user's data */
                user_id?: string | null;
            };
            header?: never;
            path: {
                tenant_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                };
            };
        };
    };
    "get /v1/spaces/{space_id}/export": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                space_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                };
            };
        };
    };
    "post /v1/admin/import": {
        parameters: {
            query?: {
                dry_run?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/x-ndjson": string;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportSummary"];
                };
            };
        };
    };
}

/** Routes that are sent at most once, since the server stores no answer to repeat. */
export const SENT_ONCE: ReadonlySet<string> = new Set([
  "delete /v1/spaces/{space_id}",
  "delete /v1/transcripts/{app}/{transcript_id}/entries/last",
  "post /v1/databases",
  "post /v1/admin/events/retire",
  "post /v1/admin/webhooks",
  "post /v1/admin/keys",
  "post /v1/admin/tenants/{tenant_id}/keys",
  "delete /v1/admin/tenants/{tenant_id}/users/{user_id}",
  "delete /v1/admin/users/{user_id}",
  "delete /v1/admin/tenants/{tenant_id}",
]);
