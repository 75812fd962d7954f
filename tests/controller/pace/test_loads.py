from controller.pace.loads import Load, Moves


def test_the_direction_in_which_more_moves_counts() -> None:
    load = Load(Moves(2), Moves(3))
    assert load.in_flight == 3
    assert load.moved(load) == 3
    assert load.lasting(load) == 3


def test_replicas_that_have_arrived_have_moved_and_do_not_last() -> None:
    before, now = Load(Moves(1, ended=4)), Load(Moves(1, ended=7))
    assert now.moved(before) == 4
    assert now.lasting(before) == 0


def test_a_large_replica_lasts_although_small_ones_move_in_the_other_direction() -> None:
    before, now = Load(Moves(1), Moves(1, ended=2)), Load(Moves(1), Moves(1, ended=9))
    assert now.lasting(before) == 1


def test_what_has_begun_since_the_last_reading_does_not_last() -> None:
    assert Load(Moves(5)).lasting(Load(Moves(2))) == 2
    assert Load(Moves(5)).lasting(Load()) == 0
